package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// pythonServer is an MCP server whose tool runs a shell command. A sandbox shows the project's
// files, and not the binary of the tests.
const pythonServer = `import json, subprocess, sys
def result(m):
    if m["method"] == "initialize":
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "p", "version": "1"}}
    if m["method"] == "tools/list":
        return {"tools": [{"name": "sh", "inputSchema": {"type": "object", "properties": {"script": {"type": "string"}}}}]}
    if m["method"] == "tools/call":
        p = subprocess.run(["sh", "-c", m["params"]["arguments"]["script"]], capture_output=True, text=True)
        return {"content": [{"type": "text", "text": p.stdout + p.stderr}]}
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    r = result(m)
    answer = {"jsonrpc": "2.0", "id": m["id"]}
    answer.update({"error": {"code": -32601, "message": "no"}} if r is None else {"result": r})
    print(json.dumps(answer), flush=True)
`

// A project's server runs in the session's sandbox, with the hosts that its configuration names,
// and the user's on the host.
func TestM12_WhereServersRun(t *testing.T) {
	t.Parallel()
	python := peer.Need(t, "python3")
	peer.Need(t, "bwrap")
	h := newHome(t, "http://127.0.0.1:1")
	outside := filepath.Join(h.home, "outside")
	h.put("server.py", pythonServer)
	h.put("sub/x", "")
	h.own(fmt.Sprintf(`{"mcpServers": {"mine": {"command": %q, "args": ["server.py"]}}}`, python))
	h.projects(`{"mcpServers": {"ours": {"command": "python3", "args": ["../server.py"], "cwd": "sub"},
		"hosted": {"command": "python3", "args": ["server.py"], "hosts": ["example.com"]},
		"loading": {"command": "python3", "args": ["server.py"], "env": {"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": "` +
		outside + `", "GIVEN": "it's $given"}}}}`)
	programs := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(programs, "attractor-env"),
		"github.com/attractor-go/attractor/cmd/attractor-env")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	call := func(server, script string, flags ...string) string {
		t.Helper()
		cmd := attractorCommand(t, append([]string{"mcp", "call", "--trust-project", server, "sh",
			fmt.Sprintf(`{"script": %q}`, script)}, flags...)...)
		cmd.Dir = h.dir
		cmd.Env = append(cmd.Env, "HOME="+h.home, "XDG_RUNTIME_DIR="+h.home, "PATH="+programs+":"+os.Getenv("PATH"))
		out := runCommand(t, cmd)
		if out.code != 0 {
			t.Fatalf("%s: %+v", server, out)
		}
		return out.stdout
	}
	write := "echo x > " + outside + "; pwd; echo proxy=$HTTPS_PROXY"
	boxed := []string{"--sandbox", "workspace"}
	if got := call("ours", write, boxed...); !strings.Contains(got, filepath.Base(h.dir)+"/sub\n") ||
		!strings.Contains(got, "proxy=\n") {
		t.Errorf("in the sandbox: %s", got)
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("a project's server wrote outside of its sandbox")
	}
	if got := call("hosted", write, boxed...); strings.Contains(got, "proxy=\n") {
		t.Errorf("with a host: %s", got)
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("a project's server with a host wrote outside of its sandbox")
	}
	// What the loader does for the sandbox's own program would be done outside of it.
	if got := call("loading", "echo $GIVEN $LD_DEBUG", boxed...); !strings.Contains(got, "it's $given libs") {
		t.Errorf("the server's variables: %s", got)
	}
	if left, err := filepath.Glob(outside + "*"); err != nil || len(left) > 0 {
		t.Errorf("the variables of a project's server had an effect outside of its sandbox: %q, %v", left, err)
	}
	call("mine", write, boxed...)
	if _, err := os.Stat(outside); err != nil {
		t.Errorf("the user's server is confined: %v", err)
	}
	if err := os.Remove(outside); err != nil {
		t.Fatal(err)
	}
	call("ours", write)
	if _, err := os.Stat(outside); err != nil {
		t.Errorf("without a sandbox a project's server runs like a command: %v", err)
	}
}

// A project gets a variable that looks like a secret only once its user has seen the name. Its cwd
// stays in it.
func TestM12_VariablesOfAProject(t *testing.T) {
	python := peer.Need(t, "python3")
	url, _ := serve(t, nil, fakellm.Turn{Text: "done"})
	h := newHome(t, url)
	h.put("server.py", pythonServer)
	h.projects(fmt.Sprintf(`{"mcpServers": {"ours": {"command": %q, "args": ["${CLAUDE_PROJECT_DIR}/server.py"], "env": {"A": "${ANTHROPIC_API_KEY}", "B": "${HOME}"}}}}`, python))
	has(t, h.run(exitUsage, "mcp", "call", "--trust-project", "ours", "sh", "{}").stderr,
		"the variable ANTHROPIC_API_KEY cannot be used: it looks like a secret", "attractor trust")
	has(t, h.run(0, "run", "--yes", "--trust-project", "--json", "x").stdout, "ANTHROPIC_API_KEY cannot be used")
	screen := h.onTerminal(0, "y\n", "trust")
	for _, want := range []string{"server ours gets your variable: ANTHROPIC_API_KEY", "server ours sets: B=${HOME}",
		"Servers are started with each session."} {
		if !strings.Contains(screen, want) {
			t.Errorf("the question does not show %q:\n%s", want, screen)
		}
	}
	if got := h.run(0, "mcp", "call", "ours", "sh",
		`{"script": "echo $A $B"}`).stdout; got != "[secret ANTHROPIC_API_KEY] "+h.home+"\n" {
		t.Errorf("%q", got)
	}

	for _, dir := range []string{"..", "/", "link"} {
		h.projects(fmt.Sprintf(`{"mcpServers": {"ours": {"command": "true", "cwd": %q}}}`, dir))
		if dir == "link" {
			if err := os.Symlink("/", filepath.Join(h.dir, "link")); err != nil {
				t.Fatal(err)
			}
		}
		has(t, h.run(exitUsage, "mcp", "tools", "--trust-project", "ours").stderr, "leads out of the project")
	}
}

// A second signal kills a server that does not end when it is closed, as anywhere else.
func TestM2_SignalsWhileClosing(t *testing.T) {
	t.Parallel()
	python := peer.Need(t, "python3")
	h := newHome(t, unusedURL)
	closing := h.fifo("closing")
	h.put("server.py", pythonServer+fmt.Sprintf("import os\nos.execvp('sh', ['sh', '-c', %q])\n", deaf(closing)))
	h.own(fmt.Sprintf(`{"mcpServers": {"deaf": {"command": %q, "args": [%q]}}}`, python,
		filepath.Join(h.dir, "server.py")))
	cmd := h.command("mcp", "list")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := h.waitFor(closing)
	signalled := make(chan struct{})
	go func() {
		defer close(signalled)
		for cmd.Process.Signal(syscall.SIGTERM) == nil { // two that come at once are one
		}
	}()
	_ = cmd.Wait() // the state has the code
	<-signalled
	if code := cmd.ProcessState.ExitCode(); code != 128+int(syscall.SIGTERM) {
		t.Errorf("exit code %d", code)
	}
	ended()
}

// A signal while a required server starts ends the command and the server.
func TestM2_SignalWhileWaiting(t *testing.T) {
	h := newHome(t, "http://127.0.0.1:1")
	fifo := filepath.Join(h.home, "started")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	h.own(fmt.Sprintf(`{"mcpServers": {"never": {"command": "sh", "args": ["-c", "echo x > %s; cat >/dev/null"], "required": true, "startTimeout": 600000}}}`, fifo))
	cmd := attractorCommand(t, "run", "--yes", "x")
	cmd.Dir = h.dir
	cmd.Env = append(cmd.Env, "HOME="+h.home, "XDG_RUNTIME_DIR="+h.home, "ANTHROPIC_API_KEY=key-of-a-test",
		"ANTHROPIC_BASE_URL=http://127.0.0.1:1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(fifo); err != nil { // the server runs
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("%v, exit code %d: %s", err, cmd.ProcessState.ExitCode(), &stderr)
	}
}

// Interpreters that load code from the directory in which they start do not load a project's that
// nobody has trusted.
func TestU18_NoCodeOfTheProject(t *testing.T) {
	t.Parallel()
	peer.Need(t, "python3")
	peer.Need(t, "node")
	h := newHome(t, "http://127.0.0.1:1")
	ran := func(name string) string { return filepath.Join(h.home, name) }
	h.put("m.py", `import os; open(os.environ["MARK"], "w")`)
	h.put("m.js", `require("fs").writeFileSync(process.env.MARK, "")`)
	h.put("m.mjs", `import fs from "fs"; fs.writeFileSync(process.env.MARK, "")`)
	h.put("m.sh", `> "$MARK"`)
	h.put(".venv/bin/planted", "#!/bin/sh\n> \"$MARK\"\n")
	path := []string{"PATH=" + filepath.Join(h.dir, ".venv/bin") + ":" + os.Getenv("PATH")}
	var list []string
	commands := map[string]string{"module": `"python3", "args": ["-um", "m"]`,
		"import": `"python3", "args": ["-c", "import m"]`,
		"path":   `"planted", "args": []`,
		"shell":  `"sh", "args": ["-c", ". ./m.sh"]`, "require": `"node", "args": ["-r", "./m.js", "-e", "1"]`,
		"loaded": `"node", "args": ["--import", "./m.mjs", "-e", "1"]`}
	for name, command := range commands {
		list = append(list, fmt.Sprintf(`%q: {"command": %s, "env": {"MARK": %q}}`, name, command, ran(name)))
	}
	h.own(`{"mcpServers": {` + strings.Join(list, ", ") + `}}`)
	for _, trusted := range []bool{false, true} {
		args := []string{"mcp", "list"}
		if trusted {
			args = append(args, "--trust-project")
		}
		out := h.runWith(0, path, args...)
		for name := range commands {
			_, err := os.Stat(ran(name))
			warned := strings.Contains(out.stderr, "the server "+name+": it starts in an empty")
			if (err == nil) != trusted || warned == trusted {
				t.Errorf("trusted %v: %s ran the project's code: %v\n%s", trusted, name, err == nil, out.stderr)
			}
		}
	}
}

// What PATH finds in another work tree of the repository is no program of the user's, either.
func TestU18_NoProgramOfAnotherWorkTree(t *testing.T) {
	t.Parallel()
	h := newHome(t, "http://127.0.0.1:1")
	git := func(args ...string) {
		t.Helper()
		args = append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)
		cmd := exec.Command("git", args...)
		cmd.Dir = h.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	mark, tree := filepath.Join(h.home, "mark"), filepath.Join(t.TempDir(), "tree")
	h.put("node_modules/.bin/planted", "#!/bin/sh\n> "+mark+"\n")
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "one")
	git("worktree", "add", "-q", tree)
	h.own(`{"mcpServers": {"one": {"command": "planted"}}}`)
	path := []string{"PATH=" + filepath.Join(h.dir, "node_modules/.bin") + ":" + os.Getenv("PATH")}
	h.runWith(0, path, "mcp", "list", "--dir", tree)
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program of the main work tree ran")
	}
}
