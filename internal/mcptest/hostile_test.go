package mcptest_test

import (
	"context"
	"flag"
	"maps"
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/tool"
)

// hostileMiB holds the size of what the servers send that send too much.
var hostileMiB = flag.Int("hostile.mib", 20, "mebibytes that hostile servers send, at least 20")

// warnings collects what a host is told.
type warnings struct {
	mu   sync.Mutex
	list []string
	errs []error
}

func (w *warnings) add(_ string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list, w.errs = append(w.list, err.Error()), append(w.errs, err)
}

func (w *warnings) all() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.list, "\n")
}

// as returns a server that is this test binary in a role.
func as(t testing.TB, name, program string) mcp.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mcp.Server{Name: name, Command: self, Args: []string{"-test.run=^$"}, StartTimeout: slow,
		Env: map[string]string{role: program, "MEBIBYTES": strconv.Itoa(*hostileMiB)}}
}

// works checks that a server answers.
func works(t *testing.T, s *mcp.Servers, name string) {
	t.Helper()
	shown := func(_ int, p []byte) { t.Errorf("a call without progress shows %q", p) }
	if o := call(t.Context(), t, s, "mcp__"+name+"__ping", `{}`,
		tool.Call{Live: shown}); o.Model.Text() != "ping was called" {
		t.Errorf("the server says %q", o.Model.Text())
	}
}

// Servers that do not begin as they should. None is waited for longer than for its error.
func TestM5_HostileStart(t *testing.T) {
	t.Parallel()
	mute := as(t, "mute", "mute")
	mute.StartTimeout = 100 * time.Millisecond
	for _, c := range []struct {
		server mcp.Server
		want   string
	}{
		{mute, "it did not start within 100ms"},
		{as(t, "garbage", "garbage"),
			`its process ended with exit code 0; the last line that it printed: {"id":1} that was it`},
		{as(t, "shapes", "shapes"), "cannot unmarshal"},
		{as(t, "neither", "neither"), `calling "initialize"`},
		{as(t, "refuses", "refuses"), `out of\u{202e} order\u{1b}[2J`},
		{as(t, "endless", "endless"), "the list has more than 1000 pages"},
		{as(t, "circle", "circle"), "the list has more than 1000 pages"},
	} {
		t.Run(c.server.Name, func(t *testing.T) {
			t.Parallel()
			w := new(warnings)
			c.server.Required = true
			s := start(t, mcp.Options{Servers: []mcp.Server{c.server}, Warn: w.add})
			err := s.Ready(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) || len(w.list) != 1 ||
				!strings.Contains(w.all(), c.want) || len(s.Tools()) != 0 {
				t.Errorf("Ready = %v, want %q; warnings %s", err, c.want, w.all())
			}
		})
	}
}

// What a server does wrong in a call reaches the model as far as it is of use, and the next call
// works.
func TestM5_HostileCalls(t *testing.T) {
	t.Parallel()
	w := new(warnings)
	rude := as(t, "rude", "rude")
	rude.Required = true
	s := ready(t, mcp.Options{Servers: []mcp.Server{rude}, Warn: w.add})
	for _, c := range []struct {
		tool    string
		want    []string
		images  int
		isError bool
	}{
		{"log", []string{"answered"}, 0, false},
		{"foreign", []string{"answered"}, 0, false},
		{"twice", []string{"first"}, 0, false},
		{"wants", []string{`sampling/createMessage: {"code":`, `roots/list: {"roots":[]}`,
			`elicitation/create: {"code":`, `shell/run: {"code":-32601`}, 0, false},
		{"late-progress", []string{"answered"}, 0, false},
		{"images", []string{"were left out: the result has more than 10 images"}, 10, false},
		{"base64", []string{"of the type image", "malformed"}, 0, false},
		{"strange", []string{"hologram"}, 0, false},
		{"kinds", []string{"4 bytes of audio/wav were left out", "8 bytes of image/png were left out", `red\u{202e}`},
			0, false},
		{"fails", []string{"The call failed, and the server does not say why."}, 0, true},
		{"empty", []string{"returned nothing"}, 0, false},
		{"null", []string{"returned nothing"}, 0, false},
		{"numbers", []string{"17"}, 0, false},
		{"megabyte", []string{"0123456789abcde"}, 0, false},
	} {
		o := call(t.Context(), t, s, "mcp__rude__"+c.tool, `{}`,
			tool.Call{Live: func(_ int, p []byte) { t.Errorf("%s shows %q", c.tool, p) }})
		text := o.Model.Text()
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %.1000q, want %q in it", c.tool, text, want)
			}
		}
		if len(images(o.Model)) != c.images || o.IsError != c.isError || len(text) > 100<<10 {
			t.Errorf("%s: %d images, error %v, %d bytes: %.1000q", c.tool, len(images(o.Model)), o.IsError, len(text),
				text)
		}
		works(t, s, "rude")
	}
	if w.all() != "" {
		t.Errorf("the warnings are %s", w.all())
	}
}

// Servers that end in the middle of a call, or might as well. The result says so, and the next call
// works.
func TestM5_HostileEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ program, tool, want, warning string }{
		{"rude", "exit", "ended during the call, which may have had effects: its process ended with exit code 9; the " +
			"last line that it printed: no more ink.", "has ended"},
		{"rude", "kill", "ended during the call, which may have had effects: its process was ended by", "has ended"},
		{"rude", "huge", "ended during the call, which may have had effects: it sent a message of more than 16 MiB",
			"more than 16 MiB"},
		{"rude", "close", "did not answer within 100ms. The call was cancelled, but it may have had effects", ""},
		{"rude", "hang", "did not answer within 100ms. The call was cancelled, but it may have had effects", ""},
		{"parent", "leave", "ended during the call, which may have had effects: its process ended with exit code 0",
			"has ended"},
	} {
		t.Run(c.tool, func(t *testing.T) {
			t.Parallel()
			w := new(warnings)
			server := as(t, "it", c.program)
			server.Required = true
			if c.warning == "" {
				server.CallTimeout = 100 * time.Millisecond
			}
			s := ready(t, mcp.Options{Servers: []mcp.Server{server}, Warn: w.add})
			o := call(t.Context(), t, s, "mcp__it__"+c.tool, `{}`, tool.Call{})
			if !o.IsError || !strings.Contains(o.Model.Text(), c.want) {
				t.Errorf("the result is %q, want %q", o.Model.Text(), c.want)
			}
			if c.warning == "" {
				return
			}
			works(t, s, "it")
			if len(w.list) != 1 || !strings.Contains(w.all(), c.warning) {
				t.Errorf("the warnings are %s, want one with %q", w.all(), c.warning)
			}
		})
	}
}

// heap samples the memory that collections found in use until the returned function is called,
// which returns the largest growth in bytes.
func heap() (grown func() int64) {
	sample := func() int64 {
		s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(s)
		return int64(s[0].Value.Uint64())
	}
	before, most := sample(), int64(0)
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				most = max(most, sample()-before)
			}
		}
	})
	return func() int64 { close(stop); done.Wait(); return most }
}

// A server that floods costs no memory, and its answer arrives. One that sends a line without end
// is cut off.
func TestM5_HostileFloods(t *testing.T) {
	rude := as(t, "rude", "rude")
	rude.Required, rude.CallTimeout = true, slow
	for _, c := range []struct {
		tool, want string
		most       int64
	}{
		{"flood", "answered", 16 << 20},
		{"huge", "it sent a message of more than 16 MiB", 64 << 20},
	} {
		s := ready(t, mcp.Options{Servers: []mcp.Server{rude}})
		grown := heap()
		o := call(t.Context(), t, s, "mcp__rude__"+c.tool, `{}`, tool.Call{Live: func(int, []byte) {}})
		most := grown()
		if !strings.Contains(o.Model.Text(), c.want) || most > c.most {
			t.Errorf("%s: %q with %d MiB more memory in use", c.tool, o.Model.Text(), most>>20)
		}
		t.Logf("%s of %d MiB: at most %d KiB more memory in use", c.tool, *hostileMiB, most>>10)
		works(t, s, "rude")
	}
}

// Lists of tools: too long, of odd names, with one page again and again.
func TestM5_HostileLists(t *testing.T) {
	t.Parallel()
	many := as(t, "many", "many")
	many.Env["TOOLS"] = "5001"
	odd, same := as(t, "odd", "names"), as(t, "same", "same")
	list := []mcp.Server{many, odd, same, as(t, "fine", "fine")}
	for i := range list {
		list[i].Required = true
	}
	w := new(warnings)
	s := ready(t, mcp.Options{Servers: list, Warn: w.add})
	st := s.Status()
	if n := len(st[0].Tools); n != 5000 || !strings.Contains(w.all(), "the MCP server many has more than 5000 tools") {
		t.Errorf("%d tools are used; warnings %s", n, w.all())
	}
	if n := len(st[2].Tools); n < 1 || n > 2 {
		t.Errorf("a list that goes in a circle has %d tools", n)
	}
	seen := map[string]bool{}
	for _, one := range s.Tools() {
		for _, c := range one.Name {
			if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", c) {
				t.Errorf("a tool is called %q", one.Name)
			}
		}
		if seen[one.Name] || len(one.Name) > 64 {
			t.Errorf("a tool is called %q, %d bytes, seen before: %v", one.Name, len(one.Name), seen[one.Name])
		}
		seen[one.Name] = true
	}
	for _, one := range st[1].Tools {
		if o := call(t.Context(), t, s, one.Name, `{}`, tool.Call{}); o.IsError || !strings.HasSuffix(o.Model.Text(),
			"was called") {
			t.Errorf("%s says %.200q", one.Name, o.Model.Text())
		}
	}
	if n := len(st[1].Tools); n != 9 {
		t.Errorf("%d tools with odd names: %s", n, names(st[1].Tools))
	}
	works(t, s, "fine")
}

// pins keeps hashes of definitions.
type pins struct {
	mu   sync.Mutex
	kept map[string]map[string]string
}

func (p *pins) Load(server string) (map[string]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.kept[server]), nil
}

func (p *pins) Save(server string, hashes map[string]string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept[server] = maps.Clone(hashes)
	return nil
}

// A description that tells the model what to do is cleaned, and the user is told when it is another
// one: at the next start, and at once if it changes while the server runs.
func TestM5_HostileDescriptions(t *testing.T) {
	t.Parallel()
	kept := &pins{kept: map[string]map[string]string{}}
	began := func(description string) (*mcp.Servers, *warnings) {
		server := as(t, "calc", "poisoned")
		server.Required, server.Env["DESCRIPTION"] = true, description
		w := new(warnings)
		return ready(t, mcp.Options{Servers: []mcp.Server{server}, Warn: w.add, Pins: kept}), w
	}
	for _, c := range []struct {
		description string
		changed     bool
	}{{"Adds.", false}, {"Adds.", false}, {"Adds numbers.", true}, {"Adds numbers.", false}} {
		s, w := began(c.description)
		if (len(w.list) > 0) != c.changed || s.Tools()[0].Description != c.description {
			t.Errorf("%q is %q with warnings %s", c.description, s.Tools()[0].Description, w.all())
		}
	}
	s, w := began("Adds numbers.")
	if o := call(t.Context(), t, s, "mcp__calc__add", `{}`, tool.Call{}); o.Model.Text() != "added" {
		t.Errorf("the result is %q", o.Model.Text())
	}
	if len(w.errs) != 1 {
		t.Fatalf("the warnings are %s", w.all())
	}
	changed, ok := w.errs[0].(*mcp.ChangedError)
	if want := `</IMPORTANT>\u{200b}\u{202e}`; !ok || len(changed.Tools) != 1 ||
		!strings.HasSuffix(changed.Tools[0].Description, want) ||
		s.Tools()[0].Description != changed.Tools[0].Description ||
		!strings.Contains(w.all(), "look at them before you allow its calls") {
		t.Errorf("told %v; the tool is %q", w.errs[0], s.Tools()[0].Description)
	}
}

// A server that ignores the end of its input and TERM is killed, with what it started. TestMain
// finds what is left.
func TestM5_HostileProcesses(t *testing.T) {
	t.Parallel()
	list := []mcp.Server{as(t, "stubborn", "stubborn"), as(t, "parent", "parent")}
	for i := range list {
		list[i].Required = true
	}
	s := ready(t, mcp.Options{Servers: list})
	works(t, s, "stubborn")
	works(t, s, "parent")
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if o := call(context.Background(), t, s, "mcp__parent__ping", `{}`, tool.Call{}); !o.IsError ||
		!strings.Contains(o.Model.Text(), "the servers are closed") {
		t.Errorf("after Close a call returns %q", o.Model.Text())
	}
}

// One of ten servers hangs. The others are there, nothing waits for it, and Close ends it.
func TestM2_OneOfTenHangs(t *testing.T) {
	t.Parallel()
	var list []mcp.Server
	for i := range 10 {
		program := "fine"
		if i == 3 {
			program = "mute"
		}
		list = append(list, as(t, "s"+strconv.Itoa(i), program))
		list[i].Required = program == "fine"
		list[i].StartTimeout = time.Hour
	}
	w := new(warnings)
	s := ready(t, mcp.Options{Servers: list, Warn: w.add})
	if got := names(s.Tools()); strings.Count(got, "__ping") != 9 || strings.Contains(got, "s3") {
		t.Errorf("the tools are %s", got)
	}
	for i, st := range s.Status() {
		if want := map[bool]mcp.State{true: mcp.Connected, false: mcp.Starting}[i != 3]; st.State != want {
			t.Errorf("server %d is %s, want %s", i, st.State, want)
		}
	}
	if err := s.Close(); err != nil || w.all() != "" {
		t.Errorf("Close = %v, warnings %s", err, w.all())
	}
}
