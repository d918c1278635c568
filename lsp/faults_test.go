//go:build unix

package lsp_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/lsp"
)

// scripted returns a workspace with the scripted server for .txt, which has the faults of a role.
func scripted(t testing.TB, role string, o lsp.Options, files ...string) *workspace {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Servers = []lsp.Server{{Name: "scripted", Command: program, Languages: map[string]string{".txt": "text"},
		Env: map[string]string{"LSP_ROLE": role}, Origin: lsp.User}}
	w := newWorkspace(t, o, files...)
	if !strings.Contains(role, "silent") {
		w.servers.ExpectWords()
	}
	return w
}

// A server that publishes diagnostics, and one that is asked for them, tell what a change has
// added.
func TestM11_PublishedAndPulled(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"push", "pull", "push,older"} {
		t.Run(role, func(t *testing.T) {
			first := scripted(t, role, lsp.Options{}, "a.txt", "one\nBAD old\n")
			first.want(first.edit("a.txt", "one", "BAD new"), "a.txt:1:1: error: BAD new", "no old")
			w := scripted(t, role, lsp.Options{}, "a.txt", "one\nBAD old\nthree\n")
			w.want(w.edit("a.txt", "one", "zero\none"))
			w.want(w.edit("a.txt", "three", "three\nBAD new"), "a.txt:5:1: error: BAD new", "no old", "no flood")
			w.want(w.edit("a.txt", "BAD new", "fine"))
			w.want(w.edit("a.txt", "fine", "BAD old"), "a.txt:5:1: error: BAD old", "no a.txt:3")
			if got := w.warned(); got != "" {
				t.Error(got)
			}
		})
	}
}

// However a server fails, the call's result is that of the tool, the server is started again three
// times, and then it is off with one warning.
func TestM11_FailingServers(t *testing.T) {
	t.Parallel()
	for role, why := range map[string]string{
		"dies":                 "its process ended with exit code 1; it last printed: boom in the server",
		"garbage":              "no message of the protocol",
		"garbage at the start": "no message of the protocol",
		"no header":            "no message of the protocol",
		"broken":               "no message of the protocol",
		"huge":                 "more than 16 MiB",
		"mute":                 "it has not answered for 1s",
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			o := lsp.Options{}
			if role == "mute" {
				o.Timeout = time.Second
			}
			w := scripted(t, role, o, "a.txt", "0")
			for i := range 6 {
				if got := w.warned(); (got != "") != (i >= 4) {
					t.Errorf("edit %d: %q", i, got)
				}
				w.want(w.edit("a.txt", fmt.Sprint(i), fmt.Sprint(i+1)))
			}
			if got := w.warned(); strings.Count(got, "\n") != 0 ||
				!strings.HasPrefix(got, "the language server scripted is off for the rest of the session: ") ||
				!strings.Contains(got, why) {
				t.Errorf("the warning: %q", got)
			}
		})
	}
}

// A program that is not installed is not tried again. Nobody is told of an optional one.
func TestM11_MissingProgram(t *testing.T) {
	for _, optional := range []bool{true, false} {
		missing := lsp.Server{Name: "missing", Command: "no-such-server", Languages: map[string]string{".txt": "text"},
			Optional: optional}
		w := newWorkspace(t, lsp.Options{Servers: []lsp.Server{missing}}, "a.txt", "0")
		w.want(w.edit("a.txt", "0", "1"))
		w.want(w.edit("a.txt", "1", "2"))
		if got, want := w.warned(),
			"the language server missing is off for the rest of the session: there is no program no-such-server in "+
				"the session's PATH"; got != "" && optional || got != want && !optional {
			t.Errorf("optional %t: %q", optional, got)
		}
	}
}

// A server that is refused is not started, and whoever needs it is told once why.
func TestM11_Refused(t *testing.T) {
	w := newWorkspace(t, lsp.Options{Servers: []lsp.Server{{Name: "refused", Command: "touch",
		Args: []string{"started"}, Languages: map[string]string{".txt": "text"}, Refused: "for a reason"}}},
		"a.txt", "0", "b.md", "0")
	w.want(w.edit("b.md", "0", "1"))
	if got := w.warned(); got != "" {
		t.Error(got)
	}
	w.want(w.edit("a.txt", "0", "1"))
	w.want(w.edit("a.txt", "1", "2"))
	if got := w.warned(); got != "the language server refused does not start: for a reason" {
		t.Error(got)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "started")); err == nil {
		t.Error("it was started")
	}
}

// A flood is read, what is kept of it is bounded, and a result has at most 20 lines.
func TestM11_Flood(t *testing.T) {
	t.Parallel()
	w := scripted(t, "floods", lsp.Options{}, "a.txt", "one\n")
	w.want(w.edit("a.txt", "one", "two"))
	lines := make([]string, 30)
	for i := range lines {
		lines[i] = fmt.Sprintf("BAD %d", i)
	}
	got := w.edit("a.txt", "two", strings.Join(lines, "\n"))
	w.want(got, "a.txt:1:1: error: BAD 0\n", "a.txt:20:1: error: BAD 19", "[Not shown: 10 more errors and 0 warnings.]",
		"no BAD 20", "no flood")
}

// What comes too late for the result of an edit is part of the next result, if it is still true.
func TestM11_Late(t *testing.T) {
	w := scripted(t, "pull,late", lsp.Options{Wait: time.Second}, "a.txt", "one\n", "b.go", "")
	gate := filepath.Join(w.dir, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() {
		f, err := os.OpenFile(gate, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	read := func(agent string) string {
		return problems(w.callAs(agent, "read_file", map[string]any{"file_path": "b.go"}))
	}
	w.want(w.edit("a.txt", "one", "BAD one"))
	w.want(read(""))
	open()
	late := ""
	for deadline := time.Now().Add(time.Minute); late == "" && time.Now().Before(deadline); late = read("") {
		w.want(read("another")) // which has not edited anything
	}
	w.want(late, "[New problems since your last change, reported by scripted:]\na.txt:1:1: error: BAD one")
	w.want(read(""))
}

// Calls do not wait for a server that is behind, and closing the servers ends whoever waits.
func TestM11_Behind(t *testing.T) {
	w := scripted(t, "mute", lsp.Options{Wait: time.Hour}, "a.txt", "one\n")
	waiting := make(chan string)
	go func() { waiting <- w.edit("a.txt", "one", "two") }()
	w.servers.WaitForJob(t)
	if err := w.servers.Close(); err != nil {
		t.Fatal(err)
	}
	w.want(<-waiting)
	w.want(w.edit("a.txt", "two", "three")) // after Close nothing is started
}

// A server that does not exit is killed.
func TestM11_Stubborn(t *testing.T) {
	t.Parallel()
	w := scripted(t, "push,stubborn", lsp.Options{}, "a.txt", "one\n")
	alive := filepath.Join(w.dir, "alive")
	if err := syscall.Mkfifo(alive, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(alive, os.O_RDWR, 0) // so that the server need not wait
	if err != nil {
		t.Fatal(err)
	}
	w.want(w.edit("a.txt", "one", "BAD"), "a.txt:1:1: error: BAD")
	r, err := os.Open(alive)
	if err := errors.Join(err, f.Close(), w.servers.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); err != nil { // ends when no process has the FIFO open for writing
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// A server without work ends, and the next edit starts it again.
func TestM11_Idle(t *testing.T) {
	w := scripted(t, "pull", lsp.Options{Idle: time.Millisecond}, "a.txt", "one\n")
	for i := range 6 {
		w.want(w.edit("a.txt", "one", "BAD"), "a.txt:1:1: error: BAD")
		w.want(w.edit("a.txt", "BAD", "one"))
		w.servers.WaitForEnd(t)
		if got := w.warned(); got != "" {
			t.Fatalf("round %d: %s", i, got)
		}
	}
}
