package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// typescriptClient builds the client and returns the program of its example, which is TypeScript,
// too.
func typescriptClient(t *testing.T) (node, program string) {
	node, tsc := peer.Need(t, "node"), peer.Need(t, "tsc")
	dir := t.TempDir()
	module := filepath.Join(dir, "node_modules/@attractor/client")
	if err := os.CopyFS(module, os.DirFS("../../clients/ts")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"package.json":  `{"type":"module"}`,
		"node.d.ts":     "declare const process: { env: Record<string, string | undefined>; argv: string[] };\n",
		"tsconfig.json": `{"compilerOptions":{"target":"es2022","module":"nodenext","types":[],"strict":true,"noEmit":true},"files":["node.d.ts","example.ts"]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	example := filepath.Join(module, "example.js")
	if text, err := os.ReadFile(example); err != nil {
		t.Fatal(err)
	} else if err := os.WriteFile(filepath.Join(dir, "example.ts"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, project := range []string{module, dir} {
		if out, err := exec.Command(tsc, "-p", project).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return node, example
}

// docs/server.md has the example of the TypeScript client, without its first line.
func TestW3_DocsHaveTheExample(t *testing.T) {
	example, err := os.ReadFile("../../clients/ts/example.js")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/server.md")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(example), "\n")
	if !strings.Contains(string(page), "```ts\n"+program+"```\n") {
		t.Error("docs/server.md has another program than clients/ts/example.js")
	}
}

// The clients run a task against the command: callbacks approve an edit, refuse a command and
// answer a question, and both print what became of it.
func TestW3_Clients(t *testing.T) {
	t.Parallel()
	python, err := filepath.Abs("../../clients/python/example.py")
	if err != nil {
		t.Fatal(err)
	}
	for name, program := range map[string]func(t *testing.T) (string, string){
		"TypeScript": typescriptClient,
		"Python":     func(t *testing.T) (string, string) { return peer.Need(t, "python3"), python },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, server := serve(t, nil,
				say("Writing.", use("write_file", object{"file_path": "a.txt", "content": "x\n"}),
					use("shell", object{"command": "touch b.txt"}),
					use("ask_user", object{"question": "Which colour?", "options": []string{"red", "blue"}})),
				fakellm.Turn{Text: "Done."})
			h := newHome(t, url)
			s := h.serving()
			interpreter, script := program(t)
			cmd := exec.Command(interpreter, script, "Write a.txt in a colour")
			cmd.Env = append(os.Environ(), "ATTRACTOR_URL="+s.url, "ATTRACTOR_TOKEN="+s.token,
				"PYTHONDONTWRITEBYTECODE=1")
			out := runCommand(t, cmd)
			if out.code != 0 {
				t.Fatalf("exit code %d\n%s\n%s", out.code, out.stdout, out.stderr)
			}
			has(t, out.stdout, "Writing.\n", "[approved] write_file "+h.dir+"/a.txt\n", "[refused] touch b.txt\n",
				"Done.\ncompleted, for $0.", "\n+x\n")
			if last := string(server.Requests()[1].Body); !strings.Contains(last, "leave running the tests to me") ||
				!strings.Contains(last, "red") {
				t.Errorf("the model got %s", last)
			}
		})
	}
}

// A client that is told a wrong address, no token, or a server that is not there, says so.
func TestW3_ClientsWithoutAServer(t *testing.T) {
	t.Parallel()
	listener := httptest.NewServer(http.NotFoundHandler())
	gone := listener.URL
	listener.Close()
	node, example := typescriptClient(t)
	python := peer.Need(t, "python3")
	for _, tt := range []struct{ url, token, want string }{
		{"", "t", `begins with http:// or https://, unlike ""`},
		{"127.0.0.1:80", "t", `begins with http:// or https://, unlike "127.0.0.1:80"`},
		{gone, "", "there is no token"},
		{gone, "t", gone + " cannot be reached: is attractor serve running?"},
	} {
		for _, cmd := range []*exec.Cmd{exec.Command(node, example, "x"),
			exec.Command(python, "../../clients/python/example.py")} {
			cmd.Env = append(os.Environ(), "ATTRACTOR_URL="+tt.url, "ATTRACTOR_TOKEN="+tt.token,
				"PYTHONDONTWRITEBYTECODE=1")
			if out := runCommand(t, cmd); out.code == 0 || !strings.Contains(out.stderr, tt.want) {
				t.Errorf("%s: %q, %q: %s", cmd.Path, tt.url, tt.token, out.stderr)
			}
		}
	}
}

// A server that has answered before is tried again until the patience with it ends.
func TestW3_ClientsOfAServerThatIsGone(t *testing.T) {
	t.Parallel()
	node, example := typescriptClient(t)
	python := peer.Need(t, "python3")
	for _, program := range []func(url string) *exec.Cmd{
		func(url string) *exec.Cmd {
			cmd := exec.Command(node, "--input-type=module", "-e", `import { Client } from "@attractor/client"
				const client = new Client("`+url+`", "t", { patience: -1000 })
				await client.create().catch(() => client.create())`)
			cmd.Dir = filepath.Dir(example)
			return cmd
		},
		func(url string) *exec.Cmd {
			cmd := exec.Command(python, "-c", `from attractor_client import Client
client = Client("`+url+`", "t", patience=-1)
try:
    client.create()
except Exception:
    client.create()`)
			cmd.Env = append(os.Environ(), "PYTHONPATH=../../clients/python", "PYTHONDONTWRITEBYTECODE=1")
			return cmd
		},
	} {
		var asked atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked.Add(1) > 1 {
				panic(http.ErrAbortHandler)
			}
			http.NotFound(w, r)
		}))
		cmd := program(server.URL)
		if out := runCommand(t, cmd); out.code == 0 || !strings.Contains(out.stderr, server.URL+
			" was not reached for -1 s (") {
			t.Errorf("%s: %s", cmd.Path, out.stderr)
		}
		server.Close()
	}
}

// A server is killed while a client has a question of its session. The client reaches the next one,
// which asks again, and the task comes to its end.
func TestW3_ClientOverARestart(t *testing.T) {
	t.Parallel()
	python := peer.Need(t, "python3")
	url, _ := serve(t, nil, say("", use("write_file", object{"file_path": "a.txt", "content": "x\n"})),
		fakellm.Turn{Text: "Done."})
	h := newHome(t, url)
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("app "+strings.Repeat("t", 40)+" owner\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := h.serving("--tokens", tokens)
	module, err := filepath.Abs("../../clients/python")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-c", `
import sys
from attractor_client import Client
asks = []
def approve(ask):
    asks.append(ask["ask"])
    print("asked", flush=True)
    sys.stdin.readline()
    return True
end = Client(sys.argv[1], "t" * 40).create().run("Write a.txt", approve=approve)
print(end["text"], len(set(asks)))`, s.url)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+module, "PYTHONDONTWRITEBYTECODE=1")
	p := startProgram(t, cmd)
	next := func(want string) {
		t.Helper()
		if line, err := p.lines.ReadString('\n'); line != want+"\n" {
			t.Fatalf("the client says %q, %v; want %q\n%s", line, err, want, p.stderr.String())
		}
	}
	next("asked")
	s.end(syscall.SIGKILL)
	h.serving("--tokens", tokens, "--listen", strings.TrimPrefix(s.url, "http://"))
	p.send("\n")
	next("asked")
	p.send("\n")
	next("Done. 2")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
