package envtest

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/env"
)

// commandChecks are the checks of Start and processes.
var commandChecks = []check{
	{"D3_ExitCode", exitCode},
	{"D3_StreamsAreToldApart", streamsAreToldApart},
	{"D3_StreamsInArrivalOrder", streamsInArrivalOrder},
	{"D3_NoInputUnlessAsked", noInputUnlessAsked},
	{"D3_Input", input},
	{"D3_DirAndEnv", dirAndEnv},
	{"D3_LinksAreFollowedAndListed", linksAreFollowedAndListed},
	{"D3_MissingDir", missingDir},
	{"D3_WaitEndsWithItsContext", waitEndsWithItsContext},
	{"D3_WaitByMany", waitByMany},
	{"D3_StartContextDoesNotEndTheProcess", startContextDoesNotEndTheProcess},
	{"D3_AllOutputBeforeWaitReturns", allOutputBeforeWaitReturns},
	{"D4_Kill", kill},
	{"D4_KillAfterTheEnd", killAfterTheEnd},
	{"D3_IDsAreUnique", idsAreUnique},
	{"AC4_5_RunTimesOut", runTimesOut},
}

// start starts a command, which must work, or skips the test where there are no commands.
func (t *tester) start(cmd env.Command) env.Process {
	t.Helper()
	p, err := t.env.Start(t.ctx, cmd)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("no commands here: %v", err)
	}
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	return p
}

// wait waits for a process, which must end.
func (t *tester) wait(p env.Process) env.Exit {
	t.Helper()
	exit, err := p.Wait(t.ctx)
	if err != nil {
		t.Fatalf("Wait: %v", err)
	}
	return exit
}

// output collects a command's output and tells of it while it runs.
type output struct {
	mu    sync.Mutex
	both  strings.Builder
	only  [3]strings.Builder
	grown chan struct{} // holds a token after news
}

func newOutput() *output { return &output{grown: make(chan struct{}, 1)} }

func (o *output) add(stream int, p []byte) {
	o.mu.Lock()
	o.both.Write(p)
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

func exitCode(t *tester) {
	exit := t.wait(t.start(env.Command{Script: "exit 7"}))
	t.equal("code", exit.Code, 7)
	t.equal("signal", exit.Signal, "")
	exit = t.wait(t.start(env.Command{Script: "true"}))
	t.equal("code", exit.Code, 0)
	if exit.Duration <= 0 {
		t.Error("it took no time")
	}
	exit = t.wait(t.start(env.Command{Script: "kill -s KILL $$"}))
	t.equal("code after a signal", exit.Code, -1)
	t.equal("signal", exit.Signal, "SIGKILL")
}

func streamsAreToldApart(t *tester) {
	out := newOutput()
	t.wait(t.start(env.Command{Script: "echo out; echo err >&2", Output: out.add}))
	t.equal("stdout", out.of(env.Stdout), "out\n")
	t.equal("stderr", out.of(env.Stderr), "err\n")
}

// streamsInArrivalOrder lets the command go on to the other stream only when the first has arrived.
func streamsInArrivalOrder(t *tester) {
	out := newOutput()
	p := t.start(env.Command{
		Script: `echo 1; read x; echo 2 >&2; read x; echo 3; read x; echo 4 >&2`,
		Stdin:  true, Output: out.add,
	})
	for _, end := range []string{"1\n", "2\n", "3\n"} {
		out.until(t, end)
		if _, err := p.Stdin().Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
	}
	t.wait(p)
	t.equal("output", out.all(), "1\n2\n3\n4\n")
}

func noInputUnlessAsked(t *tester) {
	out := newOutput()
	p := t.start(env.Command{Script: "cat; echo end", Output: out.add})
	if p.Stdin() != nil {
		t.Error("there is an input that nobody asked for")
	}
	t.wait(p)
	t.equal("output", out.all(), "end\n")
}

func input(t *tester) {
	out := newOutput()
	p := t.start(env.Command{Script: "cat", Stdin: true, Output: out.add})
	if _, err := p.Stdin().Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	out.until(t, "hello")
	if err := p.Stdin().Close(); err != nil {
		t.Fatal(err)
	}
	t.equal("code", t.wait(p).Code, 0)
}

func dirAndEnv(t *tester) {
	t.write("sub/f", "in sub", 0o644)
	t.write("f", "in the working directory", 0o644)
	for dir, want := range map[string]string{"": "in the working directory", "sub": "in sub", t.absolute("sub"): "in sub"} {
		out := newOutput()
		t.wait(t.start(env.Command{Script: "cat f", Dir: dir, Output: out.add}))
		t.equal("content of f in Dir "+dir, out.all(), want)
	}
	out := newOutput()
	t.wait(t.start(env.Command{Script: `printf %s "$ENVTEST_GREETING"`, Env: []string{"ENVTEST_GREETING=hello world"}, Output: out.add}))
	t.equal("variable", out.all(), "hello world")
}

func linksAreFollowedAndListed(t *tester) {
	t.write("dir/f", "seven..", 0o644) // not as long as any path here
	t.wait(t.start(env.Command{Script: "ln -s dir/f l; ln -s dir d"}))
	t.equal("size through a link", t.stat("l").Size, int64(7))
	t.equal("type through a link", t.stat("d").Mode.Type(), fs.ModeDir)
	t.equal("content through a link", t.read("d/f"), "seven..")
	t.write("l", "new", 0o644)
	t.equal("target written through a link", t.read("dir/f"), "new")
	list, err := t.env.ReadDir(t.ctx, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range list {
		if link := info.Mode&fs.ModeSymlink != 0; link == (info.Name == "dir") {
			t.Errorf("%s is listed with mode %v", info.Name, info.Mode)
		}
	}
	if err := t.env.Remove(t.ctx, "l"); err != nil {
		t.Fatal(err)
	}
	t.equal("target after the link was removed", t.read("dir/f"), "new")
}

func missingDir(t *tester) {
	t.wait(t.start(env.Command{Script: "true"})) // or skip
	_, err := t.env.Start(t.ctx, env.Command{Script: "true", Dir: "no-such-dir"})
	t.isError(err, fs.ErrNotExist)
	if err != nil && !strings.Contains(err.Error(), "no-such-dir") {
		t.Errorf("the error does not name the directory: %v", err)
	}
}

func waitEndsWithItsContext(t *tester) {
	p := t.start(env.Command{Script: "read x; exit 3", Stdin: true})
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.ctx)
	cancel(gone)
	_, err := p.Wait(ctx)
	t.isError(err, gone)
	if err := p.Stdin().Close(); err != nil {
		t.Fatal(err)
	}
	t.equal("code", t.wait(p).Code, 3)
	// An exit that is there is returned whatever the context.
	if exit, err := p.Wait(ctx); err != nil || exit.Code != 3 {
		t.Errorf("Wait after the end: %+v, %v", exit, err)
	}
}

func waitByMany(t *tester) {
	p := t.start(env.Command{Script: "read x; exit 3", Stdin: true})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if exit, err := p.Wait(t.ctx); err != nil || exit.Code != 3 {
				t.Errorf("Wait: %+v, %v", exit, err)
			}
		})
	}
	if err := p.Stdin().Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
}

func startContextDoesNotEndTheProcess(t *tester) {
	t.wait(t.start(env.Command{Script: "true"})) // or skip
	ctx, cancel := context.WithCancel(t.ctx)
	p, err := t.env.Start(ctx, env.Command{Script: "read x; exit 5", Stdin: true})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := p.Stdin().Close(); err != nil {
		t.Fatal(err)
	}
	t.equal("code", t.wait(p).Code, 5)
}

func allOutputBeforeWaitReturns(t *tester) {
	out := newOutput()
	t.wait(t.start(env.Command{Script: "i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done", Output: out.add}))
	lines := strings.Split(strings.TrimSuffix(out.all(), "\n"), "\n")
	t.equal("lines", len(lines), 5000)
	t.equal("last line", lines[len(lines)-1], "line 4999")
}

func kill(t *tester) {
	out := newOutput()
	p := t.start(env.Command{Script: "echo ready; sleep 1000", Output: out.add})
	out.until(t, "ready\n")
	if err := p.Kill(t.ctx); err != nil {
		t.Fatalf("Kill: %v", err)
	}
	exit := t.wait(p)
	if exit.Code == 0 {
		t.Errorf("it ended with %+v", exit)
	}
}

func killAfterTheEnd(t *tester) {
	p := t.start(env.Command{Script: "exit 4"})
	t.wait(p)
	for range 2 {
		if err := p.Kill(t.ctx); err != nil {
			t.Errorf("Kill: %v", err)
		}
	}
	t.equal("code", t.wait(p).Code, 4)
}

func idsAreUnique(t *tester) {
	seen := map[string]bool{}
	for range 3 {
		p := t.start(env.Command{Script: "true"})
		if p.ID() == "" || seen[p.ID()] {
			t.Errorf("id %q comes again", p.ID())
		}
		seen[p.ID()] = true
		t.wait(p)
	}
}

func runTimesOut(t *tester) {
	t.wait(t.start(env.Command{Script: "true"})) // or skip
	out := newOutput()
	result, err := env.Run(t.ctx, t.env, env.Command{Script: "echo partial; sleep 1000", Output: out.add}, 1e9)
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	if !result.TimedOut || result.Code == 0 {
		t.Errorf("the result is %+v", result)
	}
	t.equal("output", out.all(), "partial\n")
}
