package cli

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/internal/seed"
)

// served is a process that serves sessions.
type served struct {
	*home
	cmd        *exec.Cmd
	url, token string
	stderr     bytes.Buffer
	waited     bool
}

// serving starts attractor serve in the user's home. It ends with the test.
func (h *home) serving(args ...string) *served {
	h.Helper()
	s := &served{home: h, cmd: h.command(append([]string{"serve", "--json", "--max-requests", "1000000"}, args...)...)}
	s.cmd.Stderr = &s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		h.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		h.Fatal(err)
	}
	var told struct{ URL, Token string }
	if err := json.NewDecoder(out).Decode(&told); err != nil {
		_ = s.cmd.Wait()
		h.Fatalf("the server did not start: %v\n%s", err, s.stderr.String())
	}
	s.url, s.token = told.URL, told.Token
	h.Cleanup(func() {
		if !s.waited {
			s.end(syscall.SIGKILL)
		}
	})
	return s
}

// end ends the server with a signal, and returns its exit code, -1 if it was killed.
func (s *served) end(sig syscall.Signal) int {
	s.Helper()
	s.waited = true
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.Error(err)
	}
	_ = s.cmd.Wait() // the exit code says it
	return s.cmd.ProcessState.ExitCode()
}

// try sends a request with a body, if there is one, and returns the status and the object.
func (s *served) try(method, path, body string, headers ...string) (int, object, error) {
	req, err := http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	var o object
	if err == nil && len(data) > 0 {
		err = json.Unmarshal(data, &o)
	}
	return resp.StatusCode, o, err
}

// ask sends a request that has to get a status.
func (s *served) ask(status int, method, path, body string, headers ...string) object {
	s.Helper()
	got, o, err := s.try(method, path, body, headers...)
	if err != nil || got != status {
		s.Fatalf("%s %s %s: %d %v %v, want %d", method, path, body, got, o, err, status)
	}
	return o
}

// state waits for a state of a session.
func (s *served) state(id string, states ...string) (session object) {
	s.Helper()
	await.For(s.T, "the state "+strings.Join(states, " or "), func() bool {
		session = s.ask(200, "GET", "/v1/sessions/"+id, "")
		return slices.Contains(states, session["state"].(string))
	})
	return session
}

// asked returns the ask that waits in a session.
func (s *served) asked(id string) string {
	s.Helper()
	reply := s.ask(200, "POST", "/v1/sessions/"+id+"/lines", `{"type":"status"}`)
	asks := reply["status"].(object)["asks"].([]any)
	if len(asks) != 1 {
		s.Fatalf("%d asks wait: %v", len(asks), asks)
	}
	return asks[0].(object)["ask"].(string)
}

// The server is killed at random times and started again until the input has ended: there is one
// session and one input, no call runs twice, and every call that did not run is reported with an
// unknown outcome.
func TestW4_KilledAtAnyTime(t *testing.T) {
	url, _ := serve(t, nil, killScript()...)
	dice := seed.New(t)
	args := []string{"--yes", "--max-mode", "full"}
	send := func(s *served) (id string, err error) {
		_, made, err := s.try("POST", "/v1/sessions", `{}`, "Idempotency-Key", "session")
		if err != nil || made["id"] == nil {
			return "", fmt.Errorf("%v %w", made, err)
		}
		id = made["id"].(string)
		_, _, err = s.try("POST", "/v1/sessions/"+id+"/lines", `{"type":"user","text":"go"}`, "Idempotency-Key",
			"input")
		return id, err
	}
	h := newHome(t, url)
	began := time.Now()
	s := h.serving(args...)
	id, err := send(s)
	if err != nil {
		t.Fatal(err)
	}
	s.state(id, "idle")
	whole := time.Since(began)
	s.end(syscall.SIGTERM)
	for n := range 3 {
		h := newHome(t, url)
		for range 2 + dice.IntN(3) {
			s := h.serving(args...)
			timer := time.AfterFunc(time.Duration(dice.Int64N(int64(whole))), func() { _ = s.cmd.Process.Kill() })
			if id, err := send(s); err == nil {
				_ = s.settled(id)
			}
			timer.Stop()
			s.end(syscall.SIGKILL)
		}
		s := h.serving(args...)
		id, err := send(s)
		if err != nil {
			t.Fatal(err)
		}
		if s.state(id, "idle", "held")["state"] == "held" {
			s.ask(200, "POST", "/v1/sessions/"+id+"/lines", `{"type":"continue"}`)
			s.state(id, "idle")
		}
		if code := s.end(syscall.SIGTERM); code != 0 {
			t.Errorf("exit code %d: %s", code, s.stderr.String())
		}
		if all := h.sessions(); len(all) != 1 {
			t.Errorf("%d sessions", len(all))
		}
		exported := h.run(0, "sessions", "export", id).stdout
		lines, lost := h.logLines(), strings.Count(exported, "outcome is unknown")
		if once := slices.Compact(slices.Sorted(slices.Values(lines))); len(once) != len(lines) {
			t.Errorf("round %d: a call ran twice: %q", n, lines)
		}
		if len(lines)+lost < killRounds*killCalls {
			t.Errorf("round %d: %d calls with unknown outcome, but only these ran: %q", n, lost, lines)
		}
	}
}

// settled waits until a session rests or its server is gone.
func (s *served) settled(id string) error {
	for {
		_, session, err := s.try("GET", "/v1/sessions/"+id, "")
		if err != nil || session["state"] == "idle" || session["state"] == "held" {
			return err
		}
	}
}

// An ask is asked again by the server after one that was killed, and runs once. When the server has
// died twice over an input, that does not go on by itself, until somebody says so.
func TestW4_DiedTwice(t *testing.T) {
	url, _ := serve(t, nil, say("", use("shell", object{"command": "echo once >> log.txt"})), say("Done."),
		say("", use("shell", object{"command": "echo twice >> log.txt"})))
	h := newHome(t, url)
	s := h.serving()
	id := s.ask(201, "POST", "/v1/sessions", `{}`)["id"].(string)
	lines := "/v1/sessions/" + id + "/lines"
	s.ask(200, "POST", lines, `{"type":"user","text":"go"}`)
	s.state(id, "waiting")
	first := s.asked(id)
	s.end(syscall.SIGKILL)

	s = h.serving()
	s.state(id, "waiting")
	if s.asked(id) == first {
		t.Error("the ask has the id of another process")
	}
	s.ask(409, "POST", lines, fmt.Sprintf(`{"type":"approve","ask":%q,"decision":"allow"}`, first))
	s.end(syscall.SIGTERM) // in order, so it is no death
	s = h.serving()
	for range 2 {
		s.state(id, "waiting")
		s.end(syscall.SIGKILL)
		s = h.serving()
	}
	s.state(id, "held")
	s.end(syscall.SIGTERM)
	s = h.serving()
	s.state(id, "held")
	s.ask(409, "POST", lines, `{"type":"user","text":"go"}`)
	s.ask(200, "POST", lines, `{"type":"continue"}`)
	s.state(id, "waiting")
	s.ask(200, "POST", lines, fmt.Sprintf(`{"type":"approve","ask":%q,"decision":"allow"}`, s.asked(id)))
	s.state(id, "idle")
	if got := h.logLines(); len(got) != 1 {
		t.Errorf("the call ran %d times", len(got))
	}
	s.ask(200, "POST", lines, `{"type":"user","text":"again"}`)
	s.state(id, "waiting")
	s.end(syscall.SIGKILL)
	s = h.serving()
	s.state(id, "waiting")
	s.end(syscall.SIGKILL)
	s = h.serving()
	s.state(id, "held")
	s.ask(200, "POST", lines, `{"type":"interrupt"}`)
	s.state(id, "idle")
	other := h.command("serve")
	if got := runCommand(t, other); got.code != 1 || !strings.Contains(got.stderr, "another server") {
		t.Errorf("a second server: %d %s", got.code, got.stderr)
	}
	if code := s.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, s.stderr.String())
	}
}

// On a full disk, requests that need some are refused, and the server goes on when there is space.
func TestW4_FullDisk(t *testing.T) {
	url, _ := serve(t, nil, say("", use("shell", object{"command": "touch x"})), say("Done."))
	h := newHome(t, url)
	disk := filepath.Join(h.home, ".local", "state")
	if err := os.MkdirAll(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=4m"); err != nil {
		peer.Missing(t, "a small disk cannot be made here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	s := h.serving()
	id := s.ask(201, "POST", "/v1/sessions", `{}`)["id"].(string)
	lines := "/v1/sessions/" + id + "/lines"
	s.ask(200, "POST", lines, `{"type":"user","text":"go"}`)
	s.state(id, "waiting")
	rest := filepath.Join(disk, "rest")
	f, err := os.Create(rest)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(f, zeros{}); err == nil {
		t.Fatal("the disk is not full")
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := s.ask(507, "POST", "/v1/sessions", `{}`, "Idempotency-Key", "k"); got["code"] != "storage" {
		t.Errorf("another session: %v", got)
	}
	long := strings.Repeat("x", 100_000)
	if got := s.ask(507, "POST", lines, `{"type":"follow_up","text":"`+long+`"}`); got["code"] != "storage" {
		t.Errorf("a text that cannot be kept: %v", got)
	}
	s.ask(200, "GET", "/health", "")
	if err := os.Remove(rest); err != nil {
		t.Fatal(err)
	}
	s.ask(201, "POST", "/v1/sessions", `{}`, "Idempotency-Key", "k")
	s.ask(200, "POST", lines, `{"type":"status"}`) // opens it again, and it goes on
	s.state(id, "waiting")
	s.ask(200, "POST", lines, fmt.Sprintf(`{"type":"approve","ask":%q,"decision":"allow"}`, s.asked(id)))
	s.state(id, "idle")
	if code := s.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, s.stderr.String())
	}
}

// Beyond this machine the server needs tokens, TLS and a name, and a mode has to be chosen twice.
func TestW1_ServeFlags(t *testing.T) {
	t.Parallel()
	h := newHome(t, unusedURL)
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("ci 0123456789abcdef0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--listen 0.0.0.0:0": "--tokens", "--listen :0": "--tokens", "--listen 10.0.0.1:1": "--tokens",
		"--listen x":                                    "--listen",
		"--listen :0 --tokens " + tokens:                "--behind-proxy",
		"--listen :0 --behind-proxy --tokens " + tokens: "--host",
		"--tls-cert x":                                  "belong together",
		"--max-mode bold":                               "the modes are read-only, ask,",
		"--listen 8080":                                 "--listen must be an address with a port, such as 127.0.0.1:8080, not " + "\"8080\"",
		"--yes":                                         "beyond",
		"--mode accept-edits --max-mode ask":            "beyond",
		"--tokens /nothing":                             "no such file",
		"--root /nothing":                               "no such file",
		"--provider nobody":                             "nobody",
	} {
		got := h.run(2, append([]string{"serve"}, strings.Fields(args)...)...)
		if !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %s, want %s", args, got.stderr, want)
		}
	}
}

// A server without the key of its provider says so when it starts, as sessions may still name
// others.
func TestW1_ServeWithoutAKey(t *testing.T) {
	t.Parallel()
	s := newHome(t, unusedURL).serving("--provider", "openai")
	if s.end(syscall.SIGTERM); !strings.Contains(s.stderr.String(),
		"! A session that names no model cannot begin: no API key: set OPENAI_API_KEY") {
		t.Errorf("the server says %s", s.stderr.String())
	}
}

// The server speaks TLS with the files that it is given.
func TestW1_TLS(t *testing.T) {
	t.Parallel()
	pair := httptest.NewUnstartedServer(nil)
	pair.StartTLS()
	defer pair.Close()
	cert := pair.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: cert.Certificate[0]},
		"key.pem": {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h := newHome(t, unusedURL)
	s := h.serving("--tls-cert", filepath.Join(dir, "cert.pem"), "--tls-key", filepath.Join(dir, "key.pem"))
	roots := x509.NewCertPool()
	roots.AddCert(pair.Certificate())
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "example.com"}}}
	req, err := http.NewRequest("GET", s.url+"/v1/sessions", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Origin", s.url)
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != 200 || !strings.HasPrefix(s.url, "https://") {
		t.Errorf("%s: %s, %v", s.url, resp.Status, err)
	}
	if code := s.end(syscall.SIGINT); code != 0 {
		t.Errorf("exit code %d: %s", code, s.stderr.String())
	}
}

// Whoever is away hears of an ask by the user's Notification hook.
func TestW2_NotificationHook(t *testing.T) {
	url, _ := serve(t, nil, say("", use("write_file", object{"file_path": "a.txt", "content": "x"})), say("Done."))
	h := newHome(t, url)
	told := filepath.Join(h.home, "told")
	h.inHome(".config/attractor/hooks.json",
		`{"hooks": {"Notification": [{"hooks": [{"type": "command", "command": "cat >>`+told+`"}]}]}}`)
	s := h.serving()
	id := s.ask(201, "POST", "/v1/sessions", `{"mode":"ask"}`)["id"].(string)
	s.ask(200, "POST", "/v1/sessions/"+id+"/lines", `{"type":"user","text":"write"}`)
	s.state(id, "waiting")
	await.For(t, "the hook", func() bool {
		data, err := os.ReadFile(told)
		return err == nil && strings.Contains(string(data), "permission_prompt") && strings.Contains(string(data), id)
	})
	s.end(syscall.SIGTERM)
}
