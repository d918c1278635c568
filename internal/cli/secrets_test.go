//go:build unix

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// That the environment stays readable is only told where it has something to hide: in a sandbox of
// another program there is no key.
func TestI4_TellsOfReadableKeysOnly(t *testing.T) {
	for want, environ := range map[bool][]string{true: {"HOME=/h", "OPENAI_API_KEY=k"},
		false: {"HOME=/h", "PATH=/bin"}} {
		if got := hasSecrets(environ); got != want {
			t.Errorf("%q: %t", environ, got)
		}
	}
}

// A secret of the environment that comes in by a file, the prompt and the model's own text reaches
// neither standard output nor standard error, and what the commands that show sessions print has it
// neither.
func TestL7_TheCommandMasks(t *testing.T) {
	const value = "canary-host-secret-7f3a9c"
	for _, flag := range []string{"--json", "--max-rounds=9"} {
		home, dir := t.TempDir(), t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte("it is "+value+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("the token is "+value+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		url, _ := serve(t, nil, say("", use("shell", map[string]any{"command": "cat f; cat f >&2; cp f g"})),
			fakellm.Turn{Text: "It says " + value + "."})
		run := func(args ...string) string {
			cmd := attractorCommand(t, args...)
			cmd.Dir = dir
			cmd.Env = append(cmd.Env, "HOME="+home, "XDG_RUNTIME_DIR="+home, "ANTHROPIC_API_KEY=key-of-a-test",
				"ANTHROPIC_BASE_URL="+url, "SERVICE_TOKEN="+value,
				"SHORT_TOKEN=abc", "WORD_TOKEN=ordinary", "PATH_TOKEN=/tmp/file")
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Run(); err != nil {
				t.Fatalf("%q: %v\n%s", args, err, out.String())
			}
			return out.String()
		}
		shown := run("run", "--yes", flag, "the token is "+value)
		for _, want := range []string{"[secret SERVICE_TOKEN]", "SHORT_TOKEN is not masked: it has fewer than 8 bytes",
			"WORD_TOKEN is not masked: it is an ordinary word"} {
			if !strings.Contains(shown, want) {
				t.Errorf("%s: nothing says %q:\n%s", flag, want, shown)
			}
		}
		if strings.Contains(shown, "PATH_TOKEN") {
			t.Errorf("%s: a path is taken for a secret:\n%s", flag, shown)
		}
		ids, err := filepath.Glob(filepath.Join(home, ".local/state/attractor/sessions/*.jsonl"))
		if err != nil || len(ids) != 1 {
			t.Fatal(ids, err)
		}
		id := strings.TrimSuffix(filepath.Base(ids[0]), ".jsonl")
		for _, args := range [][]string{{"list"}, {"list", "--json"}, {"show", id}, {"events", id}, {"export", id},
			{"replay", id}, {"diff", id}, {"diff", id, "--json"}} {
			shown += run(append([]string{"sessions"}, args...)...)
		}
		shown += run("tool", "read_file", `{"file_path":"f"}`) + run("prompt")
		if at := strings.Index(shown, value); at >= 0 {
			t.Errorf("%s: the secret is shown: %s", flag, shown[max(0, at-200):at+40])
		}
	}
}

// The error of a call that never ran is masked as a result is: names of files may have a secret.
func TestL7_RefusalsOfAToolAreMasked(t *testing.T) {
	const value = "canary-host-secret-7f3a9c"
	h := newHome(t, unusedURL)
	for _, name := range []string{value + "-a\u00a0b", value + "-a\u2003b"} {
		if err := os.WriteFile(filepath.Join(h.dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := h.command("tool", "read_file", `{"file_path":"`+value+"-a\u202fb"+`"}`)
	cmd.Env = append(cmd.Env, "SERVICE_TOKEN="+value)
	out := runCommand(t, cmd)
	if out.code != exitFailed || !strings.Contains(out.stdout, "several entries of its directory look like it") ||
		!strings.Contains(out.stdout, "[secret SERVICE_TOKEN]") || strings.Contains(out.stdout, value) {
		t.Errorf("%+v", out)
	}
}

func TestL7_PanicsAreMasked(t *testing.T) {
	t.Setenv("SERVICE_TOKEN", "canary-host-secret-7f3a9c")
	if got := plainStack("panic: canary-host-secret-7f3a9c\n"); got != "panic: [secret SERVICE_TOKEN]\n" {
		t.Errorf("%q", got)
	}
}

// What was printed before an error is shown to its end, although it could have been the beginning
// of a secret.
func TestL7_MaskedOutputBeforeAnError(t *testing.T) {
	t.Setenv("SERVICE_TOKEN", "canary-host-secret-7f3a9c")
	var out strings.Builder
	err := maskedOut(terminal{out: &out}, func(t terminal) error {
		fmt.Fprint(t.out, "it begins with canary-host")
		return fs.ErrInvalid
	})
	if !errors.Is(err, fs.ErrInvalid) || out.String() != "it begins with canary-host" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
