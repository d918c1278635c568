package envtest

import (
	"errors"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attractor-go/attractor/env"
)

// commandChecks check what a command gets and prints.
var commandChecks = []check{
	{name: "D3_PlatformNamesTheShell", run: platformNamesTheShell, needs: []Feature{Commands}},
	{name: "D3_ScriptsAreTakenAsTheyAre", run: scriptsAreTakenAsTheyAre, needs: []Feature{Commands}},
	{name: "D3_StreamsAreToldApart", run: streamsAreToldApart, needs: []Feature{Commands}},
	{name: "D3_StreamsInArrivalOrder", run: streamsInArrivalOrder, needs: []Feature{Commands}},
	{name: "D3_OutputComesOneCallAtATime", run: outputComesOneCallAtATime, needs: []Feature{Commands}},
	{name: "D3_AllOutputBeforeWaitReturns", run: allOutputBeforeWaitReturns, needs: []Feature{Commands}},
	{name: "D3_NoOutputAfterWait", run: noOutputAfterWait, needs: []Feature{Commands, FIFOs, Trees}},
	{name: "D3_OutputMayBeDiscarded", run: outputMayBeDiscarded, needs: []Feature{Commands}},
	{name: "D3_NoInputUnlessAsked", run: noInputUnlessAsked, needs: []Feature{Commands}},
	{name: "D3_Input", run: input, needs: []Feature{Commands}},
	{name: "D3_InputAndOutputAreRawBytes", run: inputAndOutputAreRawBytes, needs: []Feature{Commands}},
	{name: "D3_Dir", run: dir, needs: []Feature{Commands}},
	{name: "D3_MissingDir", run: missingDir, needs: []Feature{Commands}},
	{name: "D3_Env", run: variables, needs: []Feature{Commands}},
	{name: "D3_Terminal", run: terminal, needs: []Feature{Commands, Terminals}},
	{name: "D7_RefusesCommands", run: refusesCommands, unless: Commands},
}

// start starts a command, which must succeed. It skips the test if commands are not supported.
func (t *tester) start(cmd env.Command) env.Process {
	t.Helper()
	var p env.Process
	var err error
	t.within("Start", func() { p, err = t.env.Start(t.ctx, cmd) })
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("not run: the environment lacks this: %v", err)
	}
	t.must("Start", err)
	return p
}

// wait waits for a process to end.
func (t *tester) wait(p env.Process) env.Exit {
	t.Helper()
	var exit env.Exit
	var err error
	t.within("Wait", func() { exit, err = p.Wait(t.ctx) })
	t.must("Wait", err)
	return exit
}

// run runs a script, which must succeed, and returns its output.
func (t *tester) run(cmd env.Command) *output {
	t.Helper()
	out := newOutput()
	cmd.Output = out.add
	if exit := t.wait(t.start(cmd)); exit.Code != 0 {
		t.Errorf("%s: ended with %+v, output %q", cmd.Script, exit, out.all())
	}
	return out
}

// send writes text to a process's input.
func (t *tester) send(p env.Process, text string) {
	t.Helper()
	if p.Stdin() == nil {
		t.Fatal("the process has no input")
	}
	var err error
	t.within("writing the input", func() { _, err = p.Stdin().Write([]byte(text)) })
	t.must("writing the input", err)
}

// endInput closes a process's input.
func (t *tester) endInput(p env.Process) {
	t.Helper()
	if p.Stdin() == nil {
		t.Fatal("the process has no input")
	}
	t.must("closing the input", p.Stdin().Close())
}

// output collects a command's output and signals when it grows.
type output struct {
	mu    sync.Mutex
	both  strings.Builder
	only  map[int]*strings.Builder
	grown chan struct{} // holds a token after output has arrived
}

func newOutput() *output {
	return &output{grown: make(chan struct{}, 1), only: map[int]*strings.Builder{env.Stdout: {}, env.Stderr: {}}}
}

func (o *output) add(stream int, p []byte) {
	o.mu.Lock()
	o.both.Write(p)
	if o.only[stream] == nil {
		o.only[stream] = &strings.Builder{}
	}
	o.only[stream].Write(p)
	o.mu.Unlock()
	select {
	case o.grown <- struct{}{}:
	default:
	}
}

func (o *output) all() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.both.String()
}

func (o *output) of(stream int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.only[stream].String()
}

// until waits until the output ends with a text.
func (o *output) until(t *tester, end string) {
	t.Helper()
	for !strings.HasSuffix(o.all(), end) {
		select {
		case <-o.grown:
		case <-t.ctx.Done():
			t.Fatalf("the output is %q and never ends with %q", o.all(), end)
		}
	}
}

func platformNamesTheShell(t *tester) {
	t.run(env.Command{Script: "true"})
	if t.env.Platform().Shell == "" {
		t.Errorf("there are commands, but Platform %+v has no Shell", t.env.Platform())
	}
}

func scriptsAreTakenAsTheyAre(t *tester) {
	out := t.run(env.Command{Script: "a='one  two'\nprintf '%s\\n' \"$a\" \"it's\" \\\\ # a comment\ncat <<'END'\n" +
		"$HOME `id` \u00fc\nEND\n"})
	t.equal("output", out.all(), "one  two\nit's\n\\\n$HOME `id` \u00fc\n")
}

func streamsAreToldApart(t *tester) {
	out := t.run(env.Command{Script: "echo out; echo err >&2"})
	t.equal("stdout", out.of(env.Stdout), "out\n")
	t.equal("stderr", out.of(env.Stderr), "err\n")
}

// streamsInArrivalOrder writes to the other stream only after the first text has arrived.
func streamsInArrivalOrder(t *tester) {
	out := newOutput()
	p := t.start(env.Command{
		Script: `echo 1; read x; echo 2 >&2; read x; echo 3; read x; echo 4 >&2`,
		Stdin:  true, Output: out.add,
	})
	for _, end := range []string{"1\n", "2\n", "3\n"} {
		out.until(t, end)
		t.send(p, "\n")
	}
	t.wait(p)
	t.equal("output", out.all(), "1\n2\n3\n4\n")
}

// outputComesOneCallAtATime holds the first call long enough for another one to come.
func outputComesOneCallAtATime(t *tester) {
	const patience = 300 * time.Millisecond
	var inside, overlaps atomic.Int32
	var first, second sync.Once
	another := make(chan struct{})
	p := t.start(env.Command{
		Script: "i=0; while [ $i -lt 200 ]; do echo out; echo err >&2; i=$((i+1)); done",
		Output: func(int, []byte) {
			if inside.Add(1) > 1 {
				overlaps.Add(1)
				second.Do(func() { close(another) })
			}
			first.Do(func() {
				select {
				case <-another:
				case <-time.After(patience):
				}
			})
			inside.Add(-1)
		},
	})
	t.wait(p)
	if n := overlaps.Load(); n > 0 {
		t.Errorf("%d calls of Output came while another was running", n)
	}
}

func allOutputBeforeWaitReturns(t *tester) {
	out := t.run(env.Command{Script: "i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done"})
	lines := strings.Split(strings.TrimSuffix(out.all(), "\n"), "\n")
	t.equal("lines", len(lines), 5000)
	t.equal("last line", lines[len(lines)-1], "line 4999")
}

// noOutputAfterWait leaves a process running that prints when told to and holds a FIFO open, so
// that its end is visible.
func noOutputAfterWait(t *tester) {
	t.arrange("mkfifo ready go held")
	seen, out := newOutput(), newOutput()
	watcher := t.start(env.Command{Script: "cat held; echo gone", Output: seen.add})
	p := t.start(env.Command{
		Script: "{ echo x >ready; read x <go; echo late; echo late >&2; } 3>held & read x <ready; echo early",
		Output: out.add,
	})
	t.equal("code", t.wait(p).Code, 0)
	release := t.start(env.Command{Script: "echo x >go"})
	seen.until(t, "gone\n")
	t.equal("output", out.all(), "early\n")
	for _, p := range []env.Process{release, watcher, p} { // nobody reads go if the environment has ended what was left
		t.kill(p)
	}
}

func outputMayBeDiscarded(t *tester) {
	t.equal("code", t.wait(t.start(env.Command{Script: "echo out; echo err >&2; exit 3"})).Code, 3)
}

func noInputUnlessAsked(t *tester) {
	out := newOutput()
	p := t.start(env.Command{Script: "cat; echo end", Output: out.add})
	if p.Stdin() != nil {
		t.Error("the process has an input without Command.Stdin")
	}
	t.wait(p)
	t.equal("output", out.all(), "end\n")
}

func input(t *tester) {
	out := newOutput()
	p := t.start(env.Command{Script: "cat", Stdin: true, Output: out.add})
	t.send(p, "hello")
	out.until(t, "hello")
	t.endInput(p)
	t.equal("code", t.wait(p).Code, 0)
}

func inputAndOutputAreRawBytes(t *tester) {
	data := strings.Repeat(allBytes(), 1<<12) // more than the capacity of a pipe
	out := newOutput()
	p := t.start(env.Command{Script: "cat", Stdin: true, Output: out.add})
	t.send(p, data)
	t.endInput(p)
	t.equal("code", t.wait(p).Code, 0)
	if got := out.of(env.Stdout); got != data {
		t.Errorf("%d bytes come back as %d other bytes", len(data), len(got))
	}
}

func dir(t *tester) {
	t.put("sub/f", "in sub", 0o644)
	t.put("f", "in the working directory", 0o644)
	for dir, want := range map[string]string{"": "in the working directory", "sub": "in sub",
		t.absolute("sub"): "in sub"} {
		t.equal("content of f in Dir "+dir, t.run(env.Command{Script: "cat f", Dir: dir}).all(), want)
	}
}

func missingDir(t *tester) {
	t.run(env.Command{Script: "true"}) // skips without commands
	t.put("f", "x", 0o644)
	_, err := t.env.Start(t.ctx, env.Command{Script: "true", Dir: "no-such-dir"})
	t.isError("Start", err, fs.ErrNotExist)
	if err != nil && !strings.Contains(err.Error(), "no-such-dir") {
		t.Errorf("the error does not name the directory: %v", err)
	}
	if p, err := t.env.Start(t.ctx, env.Command{Script: "true", Dir: "f"}); err == nil {
		t.Error("a command runs in a file", p.Kill(t.ctx))
	}
}

func variables(t *tester) {
	const odd = "it's \"odd\" $HOME `id` \\ *\n two=lines "
	out := t.run(env.Command{Script: `printf '%s|' "$ENVTEST_ODD" "$ENVTEST_EMPTY" "${ENVTEST_EMPTY-unset}"`,
		Env: []string{"ENVTEST_ODD=" + odd, "ENVTEST_EMPTY="}})
	t.equal("variables", out.all(), odd+"|||")
}

func terminal(t *tester) {
	out := newOutput()
	p := t.start(env.Command{
		Script: `test -t 0 && test -t 1 && test -t 2 && echo terminal; stty size; echo err >&2; read x; echo "got $x"`,
		TTY:    &env.Size{Rows: 33, Cols: 77}, Output: out.add,
	})
	out.until(t, "err\r\n")
	t.send(p, "hello\n")
	t.wait(p)
	for _, part := range []string{"terminal\r\n", "33 77\r\n", "got hello\r\n"} {
		if !strings.Contains(out.of(env.Stdout), part) {
			t.Errorf("%q is missing in %q", part, out.all())
		}
	}
	t.equal("output beside that of the terminal", len(out.all())-len(out.of(env.Stdout)), 0)
}

func refusesCommands(t *tester) {
	t.put("f", "x", 0o644)
	_, err := t.env.Start(t.ctx, env.Command{Script: "rm f"})
	if !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Start: error %v, want one that is %q or %q", err, errors.ErrUnsupported, fs.ErrPermission)
	}
	t.equal("content", t.read("f"), "x")
}
