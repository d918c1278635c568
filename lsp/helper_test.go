package lsp_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/lsp"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// workspace is a directory with a real environment, the coding tools, and language servers around
// them.
type workspace struct {
	testing.TB
	dir     string
	env     *env.Local
	servers *lsp.Servers
	tools   *tool.Registry
	calls   int

	mu       sync.Mutex
	warnings []string
}

// newWorkspace makes a directory with files, each a name and a content. It waits for diagnostics as
// long as they take, unless the options say something else.
func newWorkspace(t testing.TB, o lsp.Options, files ...string) *workspace {
	t.Helper()
	w := &workspace{TB: t, dir: t.TempDir(), tools: new(tool.Registry)}
	if real, err := filepath.EvalSymlinks(w.dir); err == nil {
		w.dir = real
	}
	for i := 0; i < len(files); i += 2 {
		w.put(files[i], files[i+1])
	}
	var err error
	if w.env, err = env.NewLocal(w.dir, env.LocalOptions{Environ: environ()}); err != nil {
		t.Fatal(err)
	}
	o.Env = w.env
	if o.Wait == 0 {
		o.Wait = time.Minute
	}
	o.Warn = func(err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.warnings = append(w.warnings, err.Error())
	}
	w.servers = lsp.New(o)
	for _, tl := range []tool.Tool{coding.EditFile(), coding.WriteFile(), coding.ReadFile(), coding.ApplyPatch(),
		coding.Shell(time.Minute)} {
		if err := w.tools.Register(tl); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := w.servers.Close(); err != nil {
			t.Error(err)
		}
		if err := w.env.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// environ returns the variables of this process, with the programs that .ci/peers has installed at
// the end of PATH.
func environ() []string {
	return append(slices.Clone(os.Environ()), "PATH="+os.Getenv("PATH")+":"+strings.Join(peer.Dirs(), ":"))
}

// put writes a file without the tools.
func (w *workspace) put(name, content string) {
	w.Helper()
	file := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		w.Fatal(err)
	}
}

// call runs a tool as a session does and returns what the model reads.
func (w *workspace) call(name string, args map[string]any) string {
	w.Helper()
	return w.callAs("", name, args)
}

// callAs is call for a subagent.
func (w *workspace) callAs(agent, name string, args map[string]any) string {
	w.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		w.Fatal(err)
	}
	w.calls++
	c := tool.Call{Env: w.env, Session: new(tool.Plain), SessionID: "s", AgentID: agent}
	out := w.tools.Run(context.Background(),
		llm.ToolCall{ID: "c" + strconv.Itoa(w.calls), Name: name, Args: string(text)}, c, nil, w.servers.Middleware)
	if out.IsError {
		w.Fatalf("%s: %s", name, out.Content.Text())
	}
	return out.Model.Text()
}

// edit replaces a text in a file and returns the diagnostics in the result, each a line.
func (w *workspace) edit(name, old, now string) string {
	w.Helper()
	return problems(w.call("edit_file", map[string]any{"file_path": name, "old_string": old, "new_string": now}))
}

// write writes a file and returns the diagnostics in the result.
func (w *workspace) write(name, content string) string {
	w.Helper()
	return problems(w.call("write_file", map[string]any{"file_path": name, "content": content}))
}

// warned returns the warnings so far.
func (w *workspace) warned() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.warnings, "\n")
}

// problems returns what a result says about problems.
func problems(result string) string {
	_, after, ok := strings.Cut(result, "[New problems ")
	if !ok {
		return ""
	}
	return "[New problems " + after
}

// want checks that the diagnostics have some texts and do not have others, which begin with "no ".
func (w *workspace) want(got string, texts ...string) {
	w.Helper()
	for _, text := range texts {
		if not, ok := strings.CutPrefix(text, "no "); ok == strings.Contains(got, not) &&
			(ok || !strings.Contains(got, text)) {
			w.Errorf("want %q in the result: %q", text, got)
		}
	}
	if len(texts) == 0 && got != "" {
		w.Errorf("want no diagnostics: %q", got)
	}
}

// builtin returns a server of the table.
func builtin(t testing.TB, name string) lsp.Server {
	t.Helper()
	for _, s := range lsp.Defaults() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no server %s", name)
	return lsp.Server{}
}
