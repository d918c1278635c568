package command

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/memfleet"
	"github.com/attractor-go/attractor/fleet/natsfleet"
	"github.com/attractor-go/attractor/fleet/workspace"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/peer"
)

// fleetHome is a home with a server.
type fleetHome struct {
	*home
	config natsfleet.Config
	stop   func() int // ends the server
}

// newFleet starts a server, as a user does.
func newFleet(t *testing.T) *fleetHome {
	t.Helper()
	h := &fleetHome{home: newHome(t, nil)}
	if out := h.run("init", "fleet.json", "--listen", peer.Address(t).String()); out.code != 0 {
		t.Fatalf("%+v", out)
	}
	var err error
	if h.config, err = natsfleet.ParseConfig([]byte(h.read("fleet.json"))); err != nil {
		t.Fatal(err)
	}
	h.write("operator", string(h.config.Operator))
	h.write("tenant", string(h.config.Tenants[0].Token)+"\n")
	h.stop, _ = h.background("is ready at", "serve")
	return h
}

// background starts a command that runs until the test ends, and waits until it has printed a text.
func (h *fleetHome) background(text string, args ...string) (interrupt func() int, ended <-chan struct{}) {
	h.Helper()
	cmd := h.command(args...)
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the code says how it ended
		w.Close()
		close(done)
	}()
	h.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-done
	})
	var printed strings.Builder
	found := make(chan bool, 1)
	go func() {
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			printed.WriteString(lines.Text() + "\n")
			if strings.Contains(lines.Text(), text) {
				break
			}
		}
		found <- lines.Err() == nil && strings.Contains(printed.String(), text)
		_, _ = io.Copy(io.Discard, r) // so that it can go on
	}()
	if !<-found {
		h.Fatalf("%q has not printed %q:\n%s", args, text, &printed)
	}
	return func() int {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			h.Fatal(err)
		}
		<-done
		return cmd.ProcessState.ExitCode()
	}, done
}

// worker starts a worker.
func (h *fleetHome) worker(name string, args ...string) (interrupt func() int, ended <-chan struct{}) {
	h.Helper()
	return h.background("worker started", append([]string{"worker", "--url", "nats://" + h.config.Listen,
		"--token-file", "operator", "--name", name, "--ttl", "2s"}, args...)...)
}

// client runs a command of the tenant.
func (h *fleetHome) client(args ...string) output {
	h.Helper()
	cmd := h.command(args...)
	cmd.Env = append(cmd.Env, "ATTRACTOR_FLEET_URL=nats://"+h.config.Listen, "ATTRACTOR_FLEET_TOKEN_FILE=tenant")
	return runCommand(h.T, cmd)
}

// eventually waits until a command of the tenant prints a text.
func (h *fleetHome) eventually(text string, args ...string) output {
	h.Helper()
	var out output
	if !await.Holds(func() bool { out = h.client(args...); return strings.Contains(out.stdout, text) }) {
		h.Fatalf("%q never prints %q: %+v", args, text, out)
	}
	return out
}

// Tasks go from submit to their results over a server and a worker, each a process of its own.
func TestP3_SubmittedAndDone(t *testing.T) {
	t.Parallel()
	h := newFleet(t)
	out := h.client("submit", "--id", "a", "--artifact", "*.txt", "--label", "team=red", "task a\n$ echo hi >hi.txt")
	if out.code != 0 || out.stdout != "a\n" {
		t.Fatalf("%+v", out)
	}
	if out := h.client("list"); !strings.HasPrefix(out.stdout, "· a  queued · for ") {
		t.Errorf("%+v", out)
	}
	h.worker("w1", "--yes")
	h.tasks(map[string]any{"id": "b", "prompt": "task b\n$ echo b"},
		map[string]any{"id": "c", "prompt": "task c", "agent": map[string]any{"provider": "nobody"}})
	if out := h.client("submit", "--file", "tasks.jsonl", "--wait"); out.code != 1 || out.stdout != "b\nc\n" ||
		!strings.Contains(out.stderr, "✗ c  failed: ") ||
		!strings.Contains(out.stderr, `unknown provider "nobody"`) {
		t.Errorf("%+v", out)
	}
	out = h.client("watch", "a")
	for _, want := range []string{"echo hi >hi.txt", "All of task a is done.", "✓ a  "} {
		if out.code != 0 || !strings.Contains(out.stdout, want) {
			t.Errorf("there is no %q in %+v", want, out)
		}
	}
	if out := h.client("watch", "c"); out.code != 1 {
		t.Errorf("%+v", out)
	}
	out = h.client("watch", "a", "--json")
	var last fleet.Update
	var n int64
	for line := range strings.Lines(out.stdout) {
		last = fleet.Update{}
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if last.N > 0 && last.N < n {
			t.Errorf("record %d comes after %d", last.N, n)
		}
		n = max(n, last.N)
	}
	if last.Status == nil || last.Status.State != fleet.Done || n == 0 {
		t.Errorf("the last line is %+v, and the last record %d", last, n)
	}
	if out := h.client("artifacts", "a"); !strings.Contains(out.stdout, "  hi.txt\n") {
		t.Errorf("%+v", out)
	}
	if out := h.client("artifacts", "a", "none"); out.code != 2 || !strings.Contains(out.stderr,
		`the task a has left no "none"; to see what`) {
		t.Errorf("%+v", out)
	}
	if out := h.client("steer", "a", "more"); out.code != 1 ||
		out.stderr != "attractor-fleet: the task a has ended (done)\n" {
		t.Errorf("%+v", out)
	}
	if out := h.client("artifacts", "a", "hi.txt"); out.stdout != "hi\n" {
		t.Errorf("%+v", out)
	}
	if out := h.client("artifacts", "a", "--out", "got"); out.code != 0 ||
		h.read("got/tasks/a/artifacts/hi.txt") != "hi\n" {
		t.Errorf("%+v", out)
	}
	if out := h.client("list", "--label", "team=red", "--json"); strings.Count(out.stdout, "\n") != 1 ||
		!strings.Contains(out.stdout, `"id":"a"`) {
		t.Errorf("%+v", out)
	}
	if out := h.run("workers", "--url", "nats://"+h.config.Listen, "--token-file",
		"operator"); !strings.HasPrefix(out.stdout, "w1  on ") {
		t.Errorf("%+v", out)
	}
}

// A running task is steered, asked about, interrupted and canceled from elsewhere, and goes to
// another worker when its own is drained.
func TestP3_SteeredFromElsewhere(t *testing.T) {
	t.Parallel()
	h := newFleet(t)
	h.worker("w1", "--ask-clients")
	if out := h.client("submit", "--id", "a", "task a\n$ echo one >>$HOME/ran\n$ echo two >>$HOME/ran"); out.code != 0 {
		t.Fatalf("%+v", out)
	}
	out := h.eventually("a  ", "asks", "a")
	if !strings.Contains(out.stdout, "echo one >>$HOME/ran") || !strings.Contains(out.stdout, "approval") {
		t.Errorf("%+v", out)
	}
	if out := h.client("list", "a"); !strings.Contains(out.stdout, "waits for an answer") {
		t.Errorf("%+v", out)
	}
	if out := h.client("steer", "a", "mind the gap", "--key", "k"); out.code != 0 {
		t.Errorf("%+v", out)
	}
	if out := h.client("approve", "a"); out.code != 0 {
		t.Fatalf("%+v", out)
	}
	h.eventually("echo two", "asks", "a")
	if out := h.client("deny", "a", "--reason", "one is enough"); out.code != 0 {
		t.Fatalf("%+v", out)
	}
	out = h.client("watch", "a")
	if out.code != 0 || !strings.Contains(out.stdout, "mind the gap") || !strings.Contains(out.stdout,
		"one is enough") {
		t.Errorf("%+v", out)
	}
	if got := h.read("ran"); got != "one\n" {
		t.Errorf("these ran: %q", got)
	}
	if out := h.client("approve", "a"); out.code != 2 || !strings.Contains(out.stderr,
		"the task a waits with no approval") {
		t.Errorf("%+v", out)
	}
	for _, command := range []string{"asks", "approve"} {
		if out := h.client(command, "nobody"); out.code != 2 || !strings.Contains(out.stderr,
			`there is no task "nobody"`+"\n") {
			t.Errorf("%s of an unknown task: %+v", command, out)
		}
	}
}

// A task is interrupted or canceled, and a drained worker gives its tasks to another one.
func TestP3_DrainedAndCanceled(t *testing.T) {
	t.Parallel()
	h := newFleet(t)
	_, ended := h.worker("w1", "--yes", "--grace", "1s")
	for _, id := range []string{"a", "b", "c"} {
		if out := h.client("submit", "--id", id,
			"task "+id+"\n$ echo "+id+" >>$HOME/ran-"+id+"; until [ -e $HOME/go ]; do sleep 0.05; done\n$ echo end-"+
				id); out.code != 0 {
			t.Fatalf("%+v", out)
		}
	}
	for _, id := range []string{"a", "b", "c"} {
		h.until("ran-" + id)
	}
	if out := h.client("cancel", "a"); out.code != 0 {
		t.Errorf("%+v", out)
	}
	if out := h.client("interrupt", "b"); out.code != 0 {
		t.Errorf("%+v", out)
	}
	h.eventually("a  canceled", "list")
	h.eventually("stopped at interrupted", "list", "b")
	if out := h.run("drain", "w1", "--url", "nats://"+h.config.Listen, "--token-file", "operator"); out.code != 0 {
		t.Errorf("%+v", out)
	}
	<-ended
	interrupt, _ := h.worker("w2", "--yes")
	h.write("go", "")
	out := h.client("watch", "c")
	if out.code != 0 || !strings.Contains(out.stdout, "running on w2") || !strings.Contains(out.stdout, "end-c") {
		t.Errorf("%+v", out)
	}
	if got := h.read("ran-c"); got != "c\n" {
		t.Errorf("c ran %q", got)
	}
	if strings.Count(out.stdout, "All of task c is done.") != 2 { // the answer, and the line about the end
		t.Errorf("the answer is shown more or less than once:\n%s", out.stdout)
	}
	if code := interrupt(); code != 130 {
		t.Errorf("an interrupted worker ends with %d", code)
	}
	if out := h.run("drain", "w9", "--url", "nats://"+h.config.Listen, "--token-file", "operator"); out.code != 2 ||
		!strings.Contains(out.stderr, "there is no worker") {
		t.Errorf("%+v", out)
	}
}

// until waits until a file of the home exists.
func (h *home) until(name string) {
	h.Helper()
	await.For(h, name, func() bool {
		_, err := os.Stat(filepath.Join(h.dir, name))
		return err == nil
	})
}

// Wrong credentials, no server and wrong commands are told at once, with what to do.
func TestP3_WrongUse(t *testing.T) {
	t.Parallel()
	h := newFleet(t)
	url := "nats://" + h.config.Listen
	h.write("wrong", "a-token-that-nobody-has-given")
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"list"}, 2, "there is no URL of the fleet's servers: pass --url"},
		{[]string{"list", "--url", url}, 2, "there is no token: pass --token-file"},
		{[]string{"list", "--url", url, "--token-file", "none"}, 2, "the token: open none"},
		{[]string{"list", "--url", url, "--token-file", "tenant", "--ca", "none"}, 2,
			"attractor-fleet: --ca: open none"},
		{[]string{"list", "--url", url, "--token-file", "tenant", "--ca", "wrong"}, 2,
			"--ca: wrong has no certificates in PEM"},
		{[]string{"list", "--url", url, "--token-file", "tenant", "--cert", "wrong", "--cert-key", "none"}, 2,
			"--cert and --cert-key: open none"},
		{[]string{"list", "--url", url, "--token-file", "wrong"}, 1, "refuses the token"},
		{[]string{"list", "--url", "nats://127.0.0.1:1", "--token-file", "tenant"}, 1, "no server answers at"},
		{[]string{"list", "--url", url, "--token-file", "tenant", "--state", "sleeping"}, 2, "the states are queued"},
		{[]string{"list", "x", "--url", url, "--token-file", "tenant"}, 2, `there is no task "x"`},
		{[]string{"watch", "x", "--url", url, "--token-file", "tenant"}, 2,
			"attractor-fleet: there is no task \"x\"\nTo see the tasks, run: attractor-fleet list"},
		{[]string{"cancel", "x", "--url", url, "--token-file", "tenant"}, 2,
			"attractor-fleet: x: there is no task \"x\"\nTo see"},
		{[]string{"artifacts", "x", "patch", "--url", url, "--token-file", "tenant"}, 2,
			"there is no task \"x\"\nTo see"},
		{[]string{"submit", "--url", url, "--token-file", "tenant"}, 2, "pass one prompt"},
		{[]string{"submit", "--url", url, "--token-file", "tenant", "--repo", "git://x/y", "do it"}, 2, "repo"},
		{[]string{"worker", "--url", url, "--token-file", "tenant", "--yes"}, 1, "refuses the token"},
		{[]string{"worker", "--url", url, "--token-file", "operator"}, 2, "nobody is there to ask"},
		{[]string{"serve", "--config", "none.json"}, 2, "attractor-fleet init none.json"},
		{[]string{"init", "fleet.json"}, 1, "file exists"},
	} {
		if out := h.run(test.args...); out.code != test.code || !strings.Contains(out.stderr, test.want) {
			t.Errorf("%q: %+v, not %q", test.args, out, test.want)
		}
	}
}

// Who watches is told that the connection is lost, and that it is back.
func TestP3_WatchTellsOfTheConnection(t *testing.T) {
	t.Parallel()
	h := newFleet(t)
	cmd := h.command("watch", "--all", "--url", "nats://"+h.config.Listen, "--token-file", "tenant")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if out := h.client("submit", "--id", "a", "task a"); out.code != 0 {
		t.Fatalf("%+v", out)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may have ended
	changes, told := bufio.NewScanner(stdout), bufio.NewScanner(stderr)
	if !changes.Scan() || !strings.Contains(changes.Text(), "a  queued") {
		t.Fatalf("%q, %v", changes.Text(), changes.Err())
	}
	h.stop()
	if !told.Scan() || !strings.HasPrefix(told.Text(), "attractor-fleet: the connection to the servers is lost") {
		t.Errorf("when the server has ended: %q", told.Text())
	}
	h.background("is ready at", "serve")
	if !told.Scan() || told.Text() != "attractor-fleet: the connection to the servers is back" {
		t.Errorf("when there is a server again: %q", told.Text())
	}
	if out := h.client("cancel", "a"); out.code != 0 {
		t.Errorf("%+v", out)
	}
	for changes.Scan() && !strings.Contains(changes.Text(), "canceled") {
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	if told.Scan() {
		t.Errorf("at the end: %q", told.Text())
	}
	_ = cmd.Wait() // an interrupt is an error
}

// view serves the page of the tenant's sessions.
func TestP2_View(t *testing.T) {
	t.Parallel()
	h := newFleet(t)
	h.worker("w1", "--yes")
	if out := h.client("submit", "--id", "a", "--wait", "task a\n$ true"); out.code != 0 {
		t.Fatalf("%+v", out)
	}
	cmd := h.command("view", "a", "--url", "nats://"+h.config.Listen, "--token-file", "tenant")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var url string
	if _, err := fmt.Fscanln(stdout, &url); err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("%s: %s", url, resp.Status)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, stdout) // to its end
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != 0 && cmd.ProcessState.ExitCode() != 130 {
		t.Error(err)
	}
}

// The sandbox of an environment holds for the commands of its tasks, also where the worker's flags
// have none.
func TestP9_SandboxOfAnEnvironment(t *testing.T) {
	t.Parallel()
	peer.Need(t, "bwrap")
	h := newFleet(t)
	h.write(".cache/attractor/fleet/workspaces/red/file", "of another tenant")
	h.write("environments.json", `{"local":{"sandbox":"workspace"},"open":{}}`)
	h.worker("w1", "--yes", "--environments", "environments.json")
	for _, name := range []string{"local", "open"} {
		out := h.client("submit", "--wait", "--environment", name, "--artifact", "read", "--id", name,
			"task "+name+"\n$ cat ../../../red/file $HOME/operator >read; echo out >$HOME/out-"+name)
		if out.code != 0 {
			t.Fatalf("%+v", out)
		}
		_, err := os.Stat(filepath.Join(h.dir, "out-"+name))
		if wrote := err == nil; wrote != (name == "open") {
			t.Errorf("in the environment %s a command wrote outside: %v", name, wrote)
		}
		if read := h.client("artifacts", name, "read").stdout; strings.Contains(read,
			"of another tenant") != (name == "open") {
			t.Errorf("in the environment %s a command read %q", name, read)
		}
	}
}

// A worker of several tenants keeps their commands apart, or does not start.
func TestP9_WorkersKeepTenantsApart(t *testing.T) {
	t.Parallel()
	two := []natsfleet.Tenant{{Tenant: fleet.Tenant{Name: "red"}}, {Tenant: fleet.Tenant{Name: "blue"}}}
	s, err := natsfleet.StartServer(t.Context(), natsfleet.Config{Store: t.TempDir(), Operator: "operator-of-this-test",
		Tenants: two})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := s.Engine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(engine.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	local := func(e workspace.Environment, more ...workspace.Environment) workspace.Options {
		all := map[string]workspace.Environment{"local": e}
		for _, e := range more {
			all["another"] = e
		}
		return workspace.Options{Environments: all}
	}
	for _, test := range []struct {
		name    string
		flags   workerFlags
		level   sandbox.Level
		options workspace.Options
		wants   string
	}{
		{"nothing", workerFlags{}, sandbox.Off, workspace.Options{}, "could read each other's files"},
		{"allow-dir", workerFlags{allowDir: true}, sandbox.Workspace, workspace.Options{},
			"--allow-dir is for one tenant"},
		{"sandbox", workerFlags{}, sandbox.Workspace, workspace.Options{}, ""},
		{"one", workerFlags{tenants: []string{"red"}, allowDir: true}, sandbox.Off, workspace.Options{}, ""},
		{"container", workerFlags{}, sandbox.Off, local(workspace.Environment{Command: []string{"x"}}), ""},
		{"another", workerFlags{}, sandbox.Off,
			local(workspace.Environment{Sandbox: sandbox.Workspace}, workspace.Environment{}), "could read"},
		{"no local", workerFlags{}, sandbox.Off,
			workspace.Options{Environments: map[string]workspace.Environment{"box": {Command: []string{"x"}}}},
			"could read"},
		{"environment", workerFlags{}, sandbox.Off, local(workspace.Environment{Sandbox: sandbox.Workspace}), ""},
	} {
		err := test.flags.separateTenants(t.Context(), engine, test.level != sandbox.Off, test.options)
		if (err == nil) != (test.wants == "") || err != nil && !strings.Contains(err.Error(), test.wants) {
			t.Errorf("%s: %v, not %q", test.name, err, test.wants)
		}
	}
}

// A worker that may serve one tenant only does not begin to serve those that the fleet gets later.
func TestP9_WorkerKeepsToItsTenant(t *testing.T) {
	for name, test := range map[string]struct {
		flags workerFlags
		level sandbox.Level
		keeps bool
	}{
		"unconfined": {workerFlags{}, sandbox.Off, true},
		"allow-dir":  {workerFlags{allowDir: true}, sandbox.Workspace, true},
		"confined":   {workerFlags{}, sandbox.Workspace, false},
	} {
		engine := memfleet.New(memfleet.Options{Tenants: []fleet.Tenant{{Name: "red"}}})
		err := test.flags.separateTenants(t.Context(), engine, test.level != sandbox.Off, workspace.Options{})
		if keeps := slices.Equal(test.flags.tenants, []string{"red"}); err != nil || keeps != test.keeps {
			t.Errorf("%s: serves %q, %v", name, test.flags.tenants, err)
		}
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The token is taken out of the environment, so that nothing that is started later has it. A file
// that a flag names comes first.
func TestP9_TokenLeavesTheEnvironment(t *testing.T) {
	h := &home{T: t, dir: t.TempDir()}
	for _, test := range []struct{ flag, variable, file, wants string }{
		{"", "of the variable", "", "of the variable"},
		{h.write("flag", "of the flag\n"), "of the variable", "", "of the flag"},
		{"", "", h.write("file", "of the file"), "of the file"},
		{"", "", h.write("empty", " "), ""},
	} {
		t.Setenv(tokenVar, test.variable)
		t.Setenv(tokenFileVar, test.file)
		got, err := (&serverFlags{tokenFile: test.flag}).token()
		if _, there := os.LookupEnv(tokenVar); there || got != test.wants || (err == nil) != (test.wants != "") {
			t.Errorf("%+v: %q, %v; in the environment: %v", test, got, err, there)
		}
	}
}
