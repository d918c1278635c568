package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// A session in a sandbox says so in its first event and in its prompt, and both its commands and
// its file tools are confined. As nobody, the sandbox also hides the host, and with it attractor's
// key.
func TestL4_RunInASandbox(t *testing.T) {
	peer.Need(t, "bwrap")
	for name, nobody := range map[string]bool{"as root": false, "as nobody": true} {
		t.Run(name, func(t *testing.T) {
			url, server := serve(t, nil,
				say("", use("shell", map[string]any{"command": `echo in >made; echo x >.mcp.json; echo y >"$OUTSIDE"; cat /proc/*/environ | tr '\0' '\n' | grep API_KEY; echo done`})),
				say("", use("write_file", map[string]any{"file_path": ".vscode/settings.json", "content": "{}"})),
				fakellm.Turn{Text: "ok"})
			h := newHome(t, url)
			outside := filepath.Join(h.home, "outside")
			cmd := attractorCommand(t, "run", "--yes", "--json", "--sandbox", "workspace", "x")
			if nobody {
				asNobody(t, cmd, h.dir, h.home)
			}
			cmd.Dir = h.dir
			cmd.Env = append(cmd.Env, "HOME="+h.home, "XDG_RUNTIME_DIR="+h.home, "TMPDIR="+h.home, "OUTSIDE="+outside,
				"ANTHROPIC_API_KEY=sk-of-this-test", "ANTHROPIC_BASE_URL="+url)
			out := runCommand(t, cmd)
			if out.code != 0 {
				t.Fatalf("%+v", out)
			}
			for _, want := range []string{"; sandbox workspace (bubblewrap); network off; ", `"hides_host":true`,
				".mcp.json: Is a directory", "the file is protected"} {
				if !strings.Contains(out.stdout, want) {
					t.Errorf("the events do not say %q:\n%s", want, out.stdout)
				}
			}
			if strings.Contains(out.stdout, "sk-of-this-test") {
				t.Error("a command found the key")
			}
			prompt := string(server.Requests()[0].Body)
			if !strings.Contains(prompt, `Network: off\nSandbox: workspace (bubblewrap); commands write only in`) {
				t.Errorf("the prompt: %s", prompt)
			}
			if entries, err := os.ReadDir(h.dir); err != nil || len(entries) != 1 || entries[0].Name() != "made" {
				t.Errorf("in the directory: %v, %v", entries, err)
			}
			if _, err := os.Stat(outside); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the home directory was written to: %v", err)
			}
			if left, err := filepath.Glob(filepath.Join(h.home, "attractor-sandbox*")); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

// Flags of the sandbox without a sandbox, and unknown levels, are errors.
func TestL4_SandboxFlags(t *testing.T) {
	peer.Need(t, "bwrap")
	h := newHome(t, unusedURL)
	for _, c := range []struct{ want, flags string }{
		{"--sandbox must be off, read-only, workspace or workspace-weak, not \"strict\"", "--sandbox strict"},
		{"--sandbox must be off, read-only, workspace or workspace-weak, not \"\"", "--sandbox="},
		{"choose one to limit them", "--network"},
		{"choose one to limit them", "--allow-socket /run/x"},
		{"is not the absolute path of a Unix socket", "--sandbox workspace --allow-socket /run/x"},
		{"cannot work in " + h.home, "--sandbox workspace --dir " + h.home},
	} {
		if out := h.run(2, append([]string{"run", "--yes", "x"},
			strings.Fields(c.flags)...)...); !strings.Contains(out.stderr, c.want) {
			t.Errorf("%s: %s", c.flags, out.stderr)
		}
	}
}

// Without bubblewrap the command says what to install, and runs nothing.
func TestL4_NoBubblewrap(t *testing.T) {
	h := newHome(t, unusedURL)
	cmd := attractorCommand(t, "tool", "shell", `{"command":"echo ran >ran"}`, "--sandbox", "workspace")
	cmd.Dir = h.dir
	cmd.Env = append(cmd.Env, "HOME="+h.home, "PATH=/nowhere")
	if out := runCommand(t, cmd); out.code != 2 || !strings.Contains(out.stderr, "apt-get install bubblewrap") ||
		strings.Contains(out.stderr, "unsupported") || out.stdout != "" {
		t.Errorf("%+v", out)
	}
}

// A command in a sandbox with --allow-host reaches that host and no other. Without the helper,
// attractor does not start.
func TestL4_RunWithAllowedHosts(t *testing.T) {
	t.Parallel()
	bwrap, curl := peer.Need(t, "bwrap"), peer.Need(t, "curl")
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "hello")
	}))
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer web.Close()
	programs := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(programs, "attractor-env"),
		"github.com/attractor-go/attractor/cmd/attractor-env")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	host := strings.Replace(strings.TrimPrefix(web.URL, "https://"), "127.0.0.1", "localhost", 1)
	url, server := serve(t, nil,
		say("", use("shell", map[string]any{"command": curl + " -sSk --noproxy '' https://" + host + "; " + curl +
			" -sSk https://attractor-test.invalid/"})), fakellm.Turn{Text: "ok"})
	h := newHome(t, url)
	cmd := attractorCommand(t, "run", "--yes", "--json", "--sandbox", "workspace", "--allow-host", host, "x")
	cmd.Dir = h.dir
	cmd.Env = append(cmd.Env, "HOME="+h.home, "TMPDIR="+h.home, "PATH="+programs+":"+os.Getenv("PATH"),
		"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL="+url)
	if out := runCommand(t, cmd); out.code != 0 || !strings.Contains(out.stdout, "network only "+host) {
		t.Errorf("%+v", out)
	}
	if results := lastResults(server.Requests()[1].Messages); !strings.Contains(results, "hello") ||
		!strings.Contains(results, "403") {
		t.Errorf("results:\n%s", results)
	}
	if left, err := filepath.Glob(filepath.Join(h.home, "attractor-*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	cmd = attractorCommand(t, "run", "--yes", "--sandbox", "workspace", "--allow-host", host, "x")
	cmd.Dir = h.dir
	cmd.Env = append(cmd.Env, "HOME="+h.home, "TMPDIR="+h.home, "PATH="+filepath.Dir(bwrap), "ANTHROPIC_API_KEY=k",
		"ANTHROPIC_BASE_URL="+url)
	if out := runCommand(t, cmd); out.code != exitUsage || !strings.Contains(out.stderr,
		"go install ./cmd/attractor-env") {
		t.Errorf("without the helper: %+v", out)
	}
}
