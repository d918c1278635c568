//go:build unix

package debuglog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/secret"
)

// Keys in addresses are hidden by their names, also in a query that does not parse.
func TestN7_DebugHidesKeysInAddresses(t *testing.T) {
	x := &transport{masker: secret.New()}
	for _, address := range []string{
		"http://h/v1?key=KEY", "http://h/v1?a=1&api_key=KEY&b=2", "http://h/v1?access_token=KEY",
		"http://h/v1?sv=2&sig=KEY", "http://h/?X-Amz-Credential=KEY",
		"http://h/v1?a=1;key=KEY", "http://h/v1?key=KEY;", "http://h/v1?key=KEY%zz", "http://KEY@h/",
		"http://user:KEY@h/", "http://h/#access_token=KEY",
		"http://h/cb?code=KEY&state=1",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := x.url(u); strings.Contains(got, "KEY") || !strings.HasPrefix(got, "http://") ||
			!strings.Contains(got, "hidden") {
			t.Errorf("%s became %s", address, got)
		}
	}
}

// A redirect has addresses in headers: Location in the response, Referer in the next request.
func TestN7_DebugHidesKeysInRedirects(t *testing.T) {
	s := opened(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/a" {
			http.Redirect(w, r, "/b?sig=KEY-two", http.StatusFound)
		}
	}))
	defer server.Close()
	client := s.log.Client(s.masker)
	defer client.CloseIdleConnections()
	resp, err := client.Get(server.URL + "/a?key=KEY-one")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Error(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	_, raw := readLines(t, s.file)
	if at := strings.Index(raw, "KEY-"); at >= 0 || !strings.Contains(raw, `"Referer"`) ||
		!strings.Contains(raw, `"Location"`) {
		t.Errorf("the file has a key:\n%s", raw)
	}
}

// A stream that is cut in a secret has none of its beginning, in whatever pieces it came.
func TestN7_SecretsInCutStreams(t *testing.T) {
	m := secret.New()
	if err := m.Register("CANARY", "canary-host-secret"); err != nil {
		t.Fatal(err)
	}
	x := &transport{masker: m}
	for name, stream := range map[string]string{
		"one piece": `data: {"index":1,"text":"it is canary-host-"}` + "\n\n",
		"many pieces": strings.Join([]string{`data: {"text":"it is ca"}`, `data: {"text":"nary-"}`,
			`data: {"text":"host-sec"}`, ""}, "\n\n"),
		"no end of JSON": `data: {"index":1,"text":"it is canary-host-`,
		"after a whole": `data: {"text":"it is canary-host-"}` + "\n\n" + `data: {"text":"secret and canary-host-"}` +
			"\n\n",
		"no end, and one": `data: {"text":"it is"}` + "\n\n" + `data: {"text":"canary-host-`,
	} {
		data, err := json.Marshal(x.streamed([]byte(stream), nil, false))
		if err != nil {
			t.Fatal(err)
		}
		var events []any
		if err := json.Unmarshal(data, &events); err != nil {
			t.Fatal(err)
		}
		if text := joined(line{"events": events}) + string(data); strings.Contains(text, "nary") ||
			strings.Contains(text, "host-") || !strings.Contains(text, "it is") {
			t.Errorf("%s: %s", name, text)
		}
	}
	whole := `data: {"text":"it is canary-host-"}` + "\n\n"
	if data, err := json.Marshal(x.streamed([]byte(whole), nil, true)); err != nil || !strings.Contains(string(data),
		"it is canary-host-") {
		t.Errorf("a stream that has ended lacks its end: %s, %v", data, err)
	}
}

// A link that somebody has laid where the file is to be does not make a file elsewhere; one to an
// own log is followed.
func TestN7_DebugFileIsNoLink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "debug.jsonl")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(link); err == nil || !strings.Contains(err.Error(), "a link to a file that does not exist") {
		t.Errorf("a link to nothing: %v", err)
	}
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the target: %v", err)
	}
	for _, name := range []string{target, link} {
		log, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		log.Logger(secret.New()).Info("hello")
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
	if lines, _ := readLines(t, target); len(lines) != 2 {
		t.Errorf("%d lines", len(lines))
	}
}

// A file or a named pipe of another user is refused: they could read it.
func TestN7_DebugFileOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a file that belongs to somebody else")
	}
	dir := t.TempDir()
	file, fifo := filepath.Join(dir, "debug.jsonl"), filepath.Join(dir, "fifo")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), syscall.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close() // nothing is read
	for _, name := range []string{file, fifo} {
		if err := os.Chown(name, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if log, err := Open(name); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
			t.Errorf("%s: %v", name, err)
			_ = log.Close() // it is not expected to be open
		}
	}
}

// The limit holds for all programs that append to a file.
func TestN7_DebugLimitIsShared(t *testing.T) {
	file := filepath.Join(t.TempDir(), "debug.jsonl")
	var logs []*Log
	for range 2 {
		log, err := Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := log.Close(); err != nil {
				t.Error(err)
			}
		}()
		log.limit = 10_000
		logs = append(logs, log)
	}
	for i := range 1000 {
		logs[i%2].Logger(secret.New()).Info("line", "i", i)
	}
	if info, err := os.Stat(file); err != nil || info.Size() > 10_000+lastLine || info.Size() < 9_000 {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
}

// After a line without an end, as a killed program leaves it, the next one stands alone.
func TestN7_DebugAfterHalfALine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "debug.jsonl")
	if err := os.WriteFile(file, []byte(beginning+`2026-11-23T00:00:00Z","msg":"ha`), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	log.Logger(secret.New()).Info("whole")
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	var l line
	if len(lines) != 2 || json.Unmarshal([]byte(lines[len(lines)-1]), &l) != nil || l.text("msg") != "whole" {
		t.Errorf("the file has %s", fmt.Sprintf("%q", lines))
	}
}
