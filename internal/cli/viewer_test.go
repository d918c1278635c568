//go:build unix

package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// viewer is attractor view as a process.
type viewer struct {
	*testing.T
	cmd    *exec.Cmd
	page   *url.URL
	stderr strings.Builder
}

// view starts attractor view and waits for its URL.
func (h *home) view(args ...string) *viewer {
	h.Helper()
	v := &viewer{T: h.T, cmd: h.command(append([]string{"view"}, args...)...)}
	v.cmd.Stderr = &v.stderr
	stdout, err := v.cmd.StdoutPipe()
	if err != nil {
		h.Fatal(err)
	}
	if err := v.cmd.Start(); err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { v.end(syscall.SIGKILL) })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		h.Fatalf("attractor view printed no URL: %v; %s", err, v.stderr.String())
	}
	if v.page, err = url.Parse(strings.TrimSpace(line)); err != nil || v.page.Scheme != "http" ||
		v.page.Hostname() != "127.0.0.1" {
		h.Fatalf("attractor view printed %q", line)
	}
	return v
}

// end sends a signal and returns the exit code. It does nothing if the process has ended.
func (v *viewer) end(sig os.Signal) int {
	if v.cmd.ProcessState == nil {
		if err := v.cmd.Process.Signal(sig); err != nil {
			v.Error(err)
		}
		_ = v.cmd.Wait() // the exit code says more
	}
	return v.cmd.ProcessState.ExitCode()
}

// get begins to read a path with the page's token.
func (v *viewer) get(path string) io.ReadCloser {
	v.Helper()
	fragment, err := url.ParseQuery(v.page.Fragment)
	if err != nil {
		v.Fatal(err)
	}
	r, err := http.NewRequest("GET", "http://"+v.page.Host+path, nil)
	if err != nil {
		v.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+fragment.Get("token"))
	r.Close = true // no connection stays
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		v.Fatal(err)
	}
	v.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		v.Fatalf("GET %s: %s", path, resp.Status)
	}
	return resp.Body
}

// The command serves the sessions that were kept until Ctrl-C, which ends open streams in order.
func TestN5_View(t *testing.T) {
	url, _ := serve(t, nil, fakellm.Turn{Text: "first"})
	h := newHome(t, url)
	h.run(0, "run", "--yes", "the task")
	id := h.sessions()[0].ID
	v := h.view(id[:6])
	if want := "session=" + id; !strings.HasSuffix(v.page.Fragment, want) {
		t.Errorf("the fragment %q does not end with %q", v.page.Fragment, want)
	}
	var list struct{ Sessions []struct{ ID, Task string } }
	if err := json.NewDecoder(v.get("/api/sessions")).Decode(&list); err != nil || len(list.Sessions) != 1 ||
		list.Sessions[0].ID != id || list.Sessions[0].Task != "the task" {
		t.Errorf("sessions: %+v, %v", list, err)
	}
	lines := bufio.NewReader(v.get("/api/sessions/" + id + "/watch"))
	for _, kind := range []string{"rows", "overview"} {
		if line, err := lines.ReadString('\n'); err != nil || !strings.HasPrefix(line, `{"type":"`+kind+`"`) {
			t.Errorf("the message with the %s is %s, %v", kind, line, err)
		}
	}
	if err := v.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if err != nil || !strings.HasSuffix(string(rest), `{"type":"end","text":"The viewer has ended."}`+"\n") {
		t.Errorf("the end of the stream: %v, %s", err, rest)
	}
	_ = v.cmd.Wait() // the exit code says more
	if code := v.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d; %s", code, v.stderr.String())
	}
}

// Every signal that ends the command does so in order, and so does a terminal that goes away.
func TestN5_ViewEnds(t *testing.T) {
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		v := newHome(t, "").view()
		if code := v.end(sig); code != 0 {
			t.Errorf("%v: exit code %d; %s", sig, code, v.stderr.String())
		}
	}
}

// As JSON, the URL comes with the port that was asked for.
func TestN5_ViewJSON(t *testing.T) {
	h := newHome(t, "")
	cmd := h.command("view", "--json")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var got struct {
		URL     string
		Port    int
		Session string
	}
	err = json.NewDecoder(stdout).Decode(&got)
	if err != nil || got.Session != "" || !strings.HasPrefix(got.URL, fmt.Sprintf("http://127.0.0.1:%d/#token=",
		got.Port)) {
		t.Errorf("%+v, %v", got, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// Mistakes are told, with what to do.
func TestN5_ViewErrors(t *testing.T) {
	h := newHome(t, "")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, taken, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, `there is no session "nix"`, []string{"nix"}},
		{exitUsage, `unexpected argument "b"`, []string{"a", "b"}},
		{exitUsage, "--port must be from 1 to 65535, or 0 for any that is free, not 65536",
			[]string{"--port", "65536"}},
		{exitUsage, "--port must be a whole number", []string{"--port", "http"}},
		{exitFailed, "without --port, any free one is taken", []string{"--port", taken}},
	} {
		if out := h.run(c.code, append([]string{"view"}, c.args...)...); !strings.Contains(out.stderr, c.want) ||
			out.stdout != "" {
			t.Errorf("%v: %q, want %q; stdout %q", c.args, out.stderr, c.want, out.stdout)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	cmd := h.command("view")
	var stderr strings.Builder
	cmd.Stdout, cmd.Stderr = w, &stderr
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(stderr.String(),
		"cannot print the URL") {
		t.Errorf("with a closed standard output: %v; %s", err, stderr.String())
	}
}

// The transcript in docs/viewer.md is what the command prints.
func TestN5_ViewerDocs(t *testing.T) {
	data, err := os.ReadFile("../../docs/viewer.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "<!-- transcript view -->\n```text\n")
	want, _, found := strings.Cut(rest, "```\n<!-- end -->\n")
	if !found {
		t.Fatal("docs/viewer.md has no transcript")
	}
	v := newHome(t, "").view()
	if code := v.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	told, _, _ := strings.Cut(v.stderr.String(), "\n")
	steadyURL := func(text string) string {
		return regexp.MustCompile(`:\d+/#token=[\w-]{43}`).ReplaceAllString(text, ":40521/#token=...")
	}
	if got := "$ attractor view\n" + told + "\n" + v.page.String() + "\n"; steadyURL(got) != steadyURL(want) {
		t.Errorf("the command prints\n%s\nand docs/viewer.md has\n%s", got, want)
	}
}

// A session of another process is followed while it runs, when that process is killed, and when a
// further one goes on with it.
func TestN5_ViewOfKilledSession(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, map[int]fakellm.Fault{1: {Kind: fakellm.FaultSilence}}, fakellm.Turn{Text: "never"},
		fakellm.Turn{Text: "recovered"})
	h := newHome(t, url)
	run := h.command("run", "--yes", "--json", "the task")
	stdout, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	for events := bufio.NewScanner(stdout); events.Scan() && !strings.Contains(events.Text(), "STEP_START"); {
	}
	id := h.sessions()[0].ID
	v := h.view(id)
	lines := bufio.NewReader(v.get("/api/sessions/" + id + "/watch"))
	if pid := v.until(lines, "running"); pid != run.Process.Pid {
		t.Errorf("the session runs in process %d, not %d", pid, run.Process.Pid)
	}
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait() // it was killed
	if pid := v.until(lines, "interrupted"); pid != 0 {
		t.Errorf("the interrupted session runs in process %d", pid)
	}
	h.run(0, "run", "--yes", "--resume", id)
	v.until(lines, "closed")
}

// until reads messages until the session is in a state, and returns the process that writes its
// journal.
func (v *viewer) until(lines *bufio.Reader, state string) (pid int) {
	v.Helper()
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			v.Fatalf("the stream has ended before the session was %s: %v", state, err)
		}
		var m struct {
			Overview struct {
				State string
				PID   int
			}
		}
		if err := json.Unmarshal(line, &m); err != nil {
			v.Fatal(err)
		}
		if m.Overview.State == state {
			return m.Overview.PID
		}
	}
}
