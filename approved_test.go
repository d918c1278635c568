package attractor

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// calls returns a turn with calls, given as names and arguments by turns.
func calls(t *testing.T, pairs ...any) fakellm.Turn {
	t.Helper()
	var turn fakellm.Turn
	for i := 0; i < len(pairs); i += 2 {
		args, err := json.Marshal(pairs[i+1])
		if err != nil {
			t.Fatal(err)
		}
		turn.Calls = append(turn.Calls, fakellm.Call{Name: pairs[i].(string), Args: args})
	}
	return turn
}

type object = map[string]any

// lastResults returns the texts of the results in the newest request.
func (b *bench) lastResults() string {
	var text strings.Builder
	requests := b.server.Requests()
	for _, m := range requests[len(requests)-1].Messages {
		for _, part := range m.Parts {
			if result, ok := part.(llm.ToolResult); ok {
				text.WriteString(result.Content.Text() + "\n")
			}
		}
	}
	return text.String()
}

// asking returns a configuration in which answer is asked about calls.
func (b *bench) asking(answer permit.Asker) config {
	c := b.config()
	c.Mode, c.Ask = permit.ModeAsk, answer
	return c
}

// openAI returns an environment with OpenAI's key.
func (b *bench) openAI() func(string) string {
	return variables("OPENAI_API_KEY", "k", "OPENAI_BASE_URL", b.url+"/v1")
}

// yes approves every call.
func yes(context.Context, permit.Question) (permit.Answer, error) {
	return permit.Answer{Verdict: tool.Allow}, nil
}

// write makes files in the directory, given as names and contents by turns.
func (b *bench) write(pairs ...string) {
	b.Helper()
	for i := 0; i < len(pairs); i += 2 {
		file := filepath.Join(b.dir, pairs[i])
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(pairs[i+1]), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

// read returns the content of a file in the directory, or "-" if there is none.
func (b *bench) read(name string) string {
	b.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if os.IsNotExist(err) {
		return "-"
	}
	if err != nil {
		b.Fatal(err)
	}
	return string(data)
}

// link makes or replaces a symbolic link in the directory.
func (b *bench) link(target, name string) {
	b.Helper()
	file := filepath.Join(b.dir, name)
	if err := os.RemoveAll(file); err != nil {
		b.Fatal(err)
	}
	if err := os.Symlink(target, file); err != nil {
		b.Skipf("cannot make symbolic links here: %v", err)
	}
}

// A file that changes between the question and the write is not written, and the model is told to
// look again. Without a change the same call succeeds.
func TestL11_FilesThatChangeAfterTheQuestion(t *testing.T) {
	edit := []any{"edit_file", object{"file_path": "f", "old_string": "one", "new_string": "two"}}
	overwrite := []any{"write_file", object{"file_path": "f", "content": "two\n"}}
	patch := []any{"apply_patch", object{"patch": "*** Begin Patch\n*** Update File: f\n-one\n+two\n*** End Patch\n"}}
	create := []any{"write_file", object{"file_path": "new/f", "content": "two\n"}}
	remove := []any{"apply_patch", object{"patch": "*** Begin Patch\n*** Delete File: f\n*** End Patch\n"}}
	throughLink := []any{"edit_file", object{"file_path": "link", "old_string": "one", "new_string": "two"}}
	for name, c := range map[string]struct {
		call   []any
		change func(b *bench) // between question and answer; nil changes nothing
		want   map[string]string
		told   string
	}{
		"unchanged":           {edit, nil, map[string]string{"f": "two\n"}, ""},
		"unchanged overwrite": {overwrite, nil, map[string]string{"f": "two\n"}, ""},
		"unchanged patch":     {patch, nil, map[string]string{"f": "two\n"}, ""},
		"unchanged new":       {create, nil, map[string]string{"new/f": "two\n"}, ""},
		"unchanged removal":   {remove, nil, map[string]string{"f": "-"}, ""},
		"unchanged link":      {throughLink, nil, map[string]string{"f": "two\n"}, ""},
		"content": {edit, func(b *bench) { b.write("f", "one, and more\n") },
			map[string]string{"f": "one, and more\n"}, "f has changed since"},
		"content overwritten": {overwrite, func(b *bench) { b.write("f", "more\n") }, map[string]string{"f": "more\n"},
			"f has changed since this session read"},
		"content patched": {patch, func(b *bench) { b.write("f", "zero\none\n") },
			map[string]string{"f": "zero\none\n"}, "f has changed since"},
		"content removed": {remove, func(b *bench) { b.write("f", "more\n") }, map[string]string{"f": "more\n"},
			"f has changed since"},
		"created": {create, func(b *bench) { b.write("new/f", "mine\n") },
			map[string]string{"new/f": "mine\n"}, "new/f exists"},
		"removed": {overwrite, func(b *bench) {
			if err := os.Remove(filepath.Join(b.dir, "f")); err != nil {
				b.Error(err)
			}
		}, map[string]string{"f": "-"}, "f has changed since"},
		"file becomes a link": {overwrite, func(b *bench) { b.link("other", "f") },
			map[string]string{"other": "one\n"}, "leads to"},
		"link leads elsewhere": {throughLink, func(b *bench) { b.link("other", "link") },
			map[string]string{"other": "one\n", "f": "one\n"}, "leads to"},
		"directory becomes a link": {create, func(b *bench) { b.write("dir/f", "mine\n"); b.link("dir", "new") },
			map[string]string{"dir/f": "mine\n"}, "new/f exists"},
		"empty directory becomes a link": {create, func(b *bench) { b.write("dir/x", ""); b.link("dir", "new") },
			map[string]string{"dir/f": "-"}, "leads to"},
		"link with the same target": {throughLink, func(b *bench) { b.link("./f", "link") },
			map[string]string{"f": "two\n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, calls(t, "read_file", object{"file_path": "f"}, "read_file", object{"file_path": "link"}),
				calls(t, c.call...), fakellm.Turn{Text: "done"})
			b.write("f", "one\n", "other", "one\n")
			b.link("f", "link")
			asked := 0
			config := b.asking(func(_ context.Context, q permit.Question) (permit.Answer, error) {
				asked++
				if c.change != nil {
					c.change(b)
				}
				return permit.Answer{Verdict: tool.Allow}, nil
			})
			if c.call[0] == "apply_patch" {
				config.Getenv = b.openAI()
			}
			b.submit(config, "change it")
			if asked != 1 {
				t.Errorf("asked %d times", asked)
			}
			for file, want := range c.want {
				if got := b.read(file); got != want {
					t.Errorf("%s holds %q, want %q", file, got, want)
				}
			}
			results := b.lastResults()
			if refused := strings.Contains(results, "Error"); refused != (c.told != "") ||
				!strings.Contains(results, c.told) {
				t.Errorf("the model is told %q, want %q", results, c.told)
			}
		})
	}
}

// The command that was approved runs, in the directory that was shown.
func TestL11_TheApprovedCommandRuns(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the script is one for a POSIX shell")
	}
	script := "pwd -P > ran; printf '%s' \"$0 $#\" >> ran; echo 'a b'"
	run := func(t *testing.T, change func(b *bench)) (*bench, []permit.Question) {
		b := newBench(t, calls(t, "exec_command", object{"cmd": script, "workdir": "link"}), fakellm.Turn{Text: "done"})
		b.write("dir/x", "", "other/x", "")
		b.link("dir", "link")
		var asked []permit.Question
		c := b.asking(func(_ context.Context, q permit.Question) (permit.Answer, error) {
			asked = append(asked, q)
			change(b)
			return permit.Answer{Verdict: tool.Allow}, nil
		})
		native := true
		c.Getenv, c.chosen.native = b.openAI(), &native
		b.submit(c, "run it")
		return b, asked
	}
	b, asked := run(t, func(*bench) {})
	dir, err := filepath.EvalSymlinks(filepath.Join(b.dir, "dir"))
	if err != nil {
		t.Fatal(err)
	}
	if len(asked) != 1 || asked[0].Access.Command != script || asked[0].CommandDir != dir {
		t.Errorf("the questions are %+v, want one with the script in %s", asked, dir)
	}
	if got := b.read("dir/ran"); !strings.HasPrefix(got, dir+"\n") || !strings.Contains(b.lastResults(), "a b") {
		t.Errorf("the command ran in %q; results %q", got, b.lastResults())
	}
	b, _ = run(t, func(b *bench) { b.link("other", "link") })
	if b.read("dir/ran") != "-" || b.read("other/ran") != "-" || !strings.Contains(b.lastResults(),
		"the command's directory led to") {
		t.Errorf("the command ran although its directory is another one; results %q", b.lastResults())
	}
}

// No middleware can change the arguments of a call after its approval.
func TestL11_ArgumentsDoNotChangeAfterTheApproval(t *testing.T) {
	b := newBench(t, calls(t, "shell", object{"command": "echo approved > ran"}), fakellm.Turn{Text: "done"})
	setup, err := prepare(t.Context(), b.asking(yes))
	if err != nil {
		t.Fatal(err)
	}
	setup.Options.Middleware = append(setup.Options.Middleware, func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
			other := *call
			other.Args, other.Access.Command = `{"command":"echo other > ran"}`, "echo other > ran"
			return next(ctx, &other)
		}
	})
	session, err := setup.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Submit(t.Context(), "run it"); err != nil {
		t.Error(err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if err := setup.Close(); err != nil {
		t.Error(err)
	}
	if got := b.read("ran"); got != "approved\n" {
		t.Errorf("the command wrote %q", got)
	}
}
