package mcp

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// warnings collects what a host is told.
type warnings struct {
	mu   sync.Mutex
	list []string
	errs []error
}

func (w *warnings) add(_ string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, err.Error())
	w.errs = append(w.errs, err)
}

func (w *warnings) all() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.list, "\n")
}

// as returns a server that is this test binary in a role.
func as(t *testing.T, name, program string) Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Server{Name: name, Command: self, Args: []string{"-test.run=^$", "it's"},
		Env: map[string]string{role: program}, Required: true}
}

// local returns an environment for processes.
func local(t *testing.T) *env.Local {
	t.Helper()
	e, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// start starts servers and closes them at the end of the test.
func start(t *testing.T, o Options) *Servers {
	t.Helper()
	if o.Env == nil {
		e := local(t)
		o.Env = func(Server) (env.Environment, error) { return e, nil }
	}
	if o.Warn == nil {
		o.Warn = func(_ string, err error) { t.Log("warning:", err) }
	}
	s := Start(t.Context(), o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// ready starts servers that have to work.
func ready(t *testing.T, o Options) *Servers {
	t.Helper()
	s := start(t, o)
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// toolNamed returns a tool of the servers.
func toolNamed(t *testing.T, s *Servers, name string) tool.Tool {
	t.Helper()
	for _, one := range s.Tools() {
		if one.Name == name {
			return one
		}
	}
	t.Fatalf("there is no tool %s", name)
	return tool.Tool{}
}

// run runs a tool as a session does.
func run(ctx context.Context, t *testing.T, s *Servers, name, args string, c tool.Call) *tool.Outcome {
	t.Helper()
	r, err := tool.NewRegistry(toolNamed(t, s, name))
	if err != nil {
		t.Fatal(err)
	}
	if c.Session == nil {
		c.Session = &tool.Plain{}
	}
	return r.Run(ctx, llm.ToolCall{ID: "1", Name: name, Args: args}, c, nil)
}

func TestM1_Results(t *testing.T) {
	s := ready(t, Options{Servers: []Server{as(t, "lab", "lab")}})
	o := run(t.Context(), t, s, "mcp__lab__measure", `{}`, tool.Call{})
	want := "42 degrees[4 bytes of audio/wav were left out: models here take only PNG, JPEG, GIF and WebP images.]\n" +
		"[Resource lab://log; the log]\n[Resource lab://note]\na note\n{\"degrees\":42}"
	if got := o.Model.Text(); got != want || o.IsError || string(o.Structured) != `{"degrees":42}` {
		t.Errorf("the text is %q, want %q; structured %s", got, want, o.Structured)
	}
	var images []llm.Media
	for _, part := range o.Model {
		if m, ok := part.(llm.Media); ok {
			images = append(images, m)
		}
	}
	if len(images) != 1 || images[0].MIME != "image/png" || string(images[0].Data) != png {
		t.Errorf("the images are %+v", images)
	}
	if o := run(t.Context(), t, s, "mcp__lab__only-structure", `{}`, tool.Call{}); o.Model.Text() != `{"n":1}` {
		t.Errorf("a structure without text is shown as %q", o.Model.Text())
	}
	if o := run(t.Context(), t, s, "mcp__lab__fail", `{}`, tool.Call{}); !o.IsError ||
		o.Model.Text() != "the scale is broken" {
		t.Errorf("a failure is %v, %q", o.IsError, o.Model.Text())
	}
}

func TestM1_Definitions(t *testing.T) {
	trusted := as(t, "trusted", "lab")
	trusted.Trusted, trusted.Enabled = true, []string{"look", "measure"}
	trusted.Disabled = []string{"measure"}
	s := ready(t, Options{Servers: []Server{as(t, "lab", "lab"), trusted}})
	if got := toolNamed(t, s, "mcp__lab__measure").Description; got != `Measures.\u{200b}` {
		t.Errorf("the description is %q", got)
	}
	var names []string
	for _, one := range s.Tools() {
		names = append(names, one.Name)
	}
	if !slices.Equal(names[len(names)-3:], []string{"mcp__trusted__look", ListResources, ReadResource}) ||
		strings.Count(strings.Join(names, " "), "trusted") != 1 {
		t.Errorf("the tools are %v", names)
	}
	for name, want := range map[string]tool.Effect{"mcp__lab__look": tool.Exclusive,
		"mcp__trusted__look": tool.ReadOnly} {
		if a, err := toolNamed(t, s, name).Access(`{}`); err != nil || a.Effect != want {
			t.Errorf("%s is %v, %v", name, a.Effect, err)
		}
	}
	if st := s.Status(); st[0].State != Connected || st[0].Program != "lab 1" || st[0].Protocol != "2026-07-28" ||
		st[0].Instructions != "Measure before you weigh." {
		t.Errorf("the status is %+v", st[0])
	}
}

// Old servers do not know the first message of new versions: one is silent, the other ends.
func TestM1_OldServers(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"old", "brittle"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			s := ready(t, Options{Servers: []Server{as(t, "lab", program)}})
			if o := run(t.Context(), t, s, "mcp__lab__echo", `{"big":12345678901234567890}`,
				tool.Call{}); o.Model.Text() != `{"big":12345678901234567890}` {
				t.Errorf("the server got %q", o.Model.Text())
			}
			if n := len(s.Tools()); n != 1 {
				t.Errorf("there are %d tools; one that is listed twice counts once", n)
			}
		})
	}
}

// A new server that takes longer to start than the probe is waited for finds two handshakes, and
// refuses the second.
func TestM1_SlowServer(t *testing.T) {
	t.Parallel()
	slow := as(t, "lab", "lab")
	slow.Command, slow.Args = "sh", append([]string{"-c", `sleep 4; exec "$0" "$@"`, slow.Command}, slow.Args...)
	s := ready(t, Options{Servers: []Server{slow}})
	if o := run(t.Context(), t, s, "mcp__lab__look", `{}`, tool.Call{}); o.Model.Text() != "seen" {
		t.Errorf("the result is %q", o.Model.Text())
	}
}

func TestM1_OutputBesidesMessages(t *testing.T) {
	s := ready(t, Options{Servers: []Server{as(t, "lab", "noisy")}})
	if o := run(t.Context(), t, s, "mcp__lab__look", `{}`, tool.Call{}); o.Model.Text() != "seen" {
		t.Errorf("the result is %q", o.Model.Text())
	}
}

// Servers that cannot start are warnings with a reason, and errors if they are required.
func TestM2_ServersThatDoNotStart(t *testing.T) {
	t.Parallel()
	missing := Server{Name: "missing", Command: filepath.Join(t.TempDir(), "nothing"), Required: true}
	silent := as(t, "silent", "silent")
	silent.StartTimeout = 1 // already over
	for _, c := range []struct {
		server Server
		want   string
	}{
		{as(t, "lab", "broken"), "exit code 1; the last line that it printed: no database at this place"},
		{missing, "exit code 127, because its command, or a program that it runs, is not installed or not in PATH; " +
			"the last line that it printed: "},
		{silent, "it did not start within 1ns"},
		{as(t, "lab", "huge"), "it sent a message of more than 16 MiB"},
		{Server{Name: "empty", Required: true}, "neither a command nor a url"},
		{Server{Name: "ftp", URL: "ftp://x", Required: true}, "does not begin with https:// or http://"},
	} {
		t.Run(c.server.Name, func(t *testing.T) {
			t.Parallel()
			w := new(warnings)
			s := start(t, Options{Servers: []Server{c.server}, Warn: w.add})
			err := s.Ready(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(w.all(), c.want) ||
				len(s.Tools()) != 0 {
				t.Errorf("Ready = %v, want %q; warnings %s", err, c.want, w.all())
			}
			if st := s.Status()[0]; st.State != Failed || st.Err == nil {
				t.Errorf("the status is %+v", st)
			}
		})
	}
}

// A server that died says why, and the next call starts it again, but not for ever.
func TestM1_DeadServers(t *testing.T) {
	t.Parallel()
	w := new(warnings)
	s := ready(t, Options{Servers: []Server{as(t, "lab", "lab")}, Warn: w.add})
	for range 2 {
		o := run(t.Context(), t, s, "mcp__lab__die", `{}`, tool.Call{})
		if want := "exit code 7; the last line that it printed: out of mercury"; !o.IsError ||
			!strings.Contains(o.Model.Text(), want) {
			t.Errorf("the result is %q, want %q", o.Model.Text(), want)
		}
		if o := run(t.Context(), t, s, "mcp__lab__look", `{}`, tool.Call{}); o.Model.Text() != "seen" {
			t.Errorf("after its death the server says %q", o.Model.Text())
		}
	}
	if strings.Count(w.all(), "starts it again") != 2 {
		t.Errorf("the warnings are %s", w.all())
	}
}

// A cancelled call returns at once, and the server is told.
func TestM1_Cancellation(t *testing.T) {
	s := ready(t, Options{Servers: []Server{as(t, "lab", "lab")}})
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	o := run(ctx, t, s, "mcp__lab__wait", `{}`, tool.Call{Live: func(_ int, p []byte) {
		if string(p) != "1/3 waiting\\u{1b}[2J\n" {
			t.Errorf("progress is shown as %q", p)
		}
		cancel(interrupted)
	}})
	if !o.IsError {
		t.Errorf("the cancelled call returned %q", o.Model.Text())
	}
	if o := run(t.Context(), t, s, "mcp__lab__was-cancelled", `{}`, tool.Call{}); o.Model.Text() != "yes" {
		t.Errorf("the server says %q", o.Model.Text())
	}
}
