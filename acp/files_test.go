package acp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/acp"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// buffers is an editor with files, on the other end of a connection. It has texts as editors have
// them: without byte order marks, with \n as line endings.
type buffers struct {
	*testing.T
	dir      string // of the session, as the editor names it
	agentEnv env.Environment
	local    *env.Local
	session  string

	out io.WriteCloser // to the agent

	mu      sync.Mutex
	n       int
	open    map[int]chan reply
	unsaved map[string]string // texts with unsaved changes, by path
	// The manners of the editor.
	dropsFinalNewline, keepsUnsaved bool
	format                          func(text string) string // what it does on saving
	read, write                     func() *acp.Error        // before it answers; nil does nothing
	asked                           []string                 // the reads and writes, with their paths
	shown                           []string                 // the texts of the session's updates
}

// reply is the answer to a request.
type reply struct {
	Result json.RawMessage
	Error  *acp.Error
}

// newBuffers connects an editor with an agent, whose sessions have a scripted model. The editor
// offers its files.
func newBuffers(t *testing.T, dir string, answers ...llmtest.Step) *buffers {
	t.Helper()
	b := &buffers{T: t, dir: dir, open: map[int]chan reply{}, unsaved: map[string]string{}}
	fromEditor, toAgent := io.Pipe()
	fromAgent, toEditor := io.Pipe()
	b.out = toAgent
	a := &acp.Agent{Name: "test", Version: "1", Open: func(ctx context.Context, o acp.Opening) (*acp.Session, error) {
		local, err := env.NewLocal(o.Dir, env.LocalOptions{})
		if err != nil {
			return nil, err
		}
		b.local, b.agentEnv = local, o.Client.Files(ctx, local, o.Dir)
		s, err := agent.New(ctx,
			agent.Options{Client: &llm.Client{Providers: []llm.Provider{llmtest.NewProvider("test", answers...)}},
				Env: b.agentEnv,
				Profile: profile.Profile{Name: "test", Provider: "test", Model: "m", Prompt: "p",
					Tools: []tool.Tool{coding.ReadFile(), coding.EditFile(), coding.WriteFile(), coding.Grep()}},
				OnEvent: o.Client.Event})
		return &acp.Session{Agent: s, Close: local.Close}, err
	}}
	served := make(chan error, 1)
	go func() {
		err := a.Serve(context.WithoutCancel(t.Context()), fromEditor, toEditor)
		served <- errors.Join(err, toEditor.Close())
	}()
	read := make(chan struct{})
	go func() { defer close(read); b.listen(fromAgent) }()
	t.Cleanup(func() {
		err := errors.Join(toAgent.Close(), <-served)
		if <-read; err != nil {
			t.Error(err)
		}
	})
	b.call("initialize", map[string]any{"protocolVersion": 1,
		"clientCapabilities": map[string]any{"fs": map[string]bool{"readTextFile": true, "writeTextFile": true}}})
	var opened struct{ SessionID string }
	if err := json.Unmarshal(b.call("session/new", map[string]any{"cwd": dir, "mcpServers": []any{}}),
		&opened); err != nil {
		t.Fatal(err)
	}
	b.session = opened.SessionID
	return b
}

// listen answers the agent.
func (b *buffers) listen(in io.Reader) {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     int
			Method string
			Params struct {
				SessionID, Path, Content string
				Update                   struct{ Content json.RawMessage }
			}
			Result json.RawMessage
			Error  *acp.Error
		}
		if err := json.Unmarshal(line, &m); err != nil {
			b.Errorf("%q: %v", line, err)
			continue
		}
		switch m.Method {
		case "":
			b.mu.Lock()
			b.open[m.ID] <- reply{m.Result, m.Error}
			b.mu.Unlock()
		case "session/update":
			b.mu.Lock()
			b.shown = append(b.shown, string(m.Params.Update.Content))
			b.mu.Unlock()
		case "fs/read_text_file":
			go b.answer(m.ID, m.Params.Path, &b.read, func() any {
				text, err := b.text(m.Params.Path)
				if err != nil {
					return &acp.Error{Code: acp.CodeInternal, Message: err.Error()}
				}
				return map[string]string{"content": text}
			})
		case "fs/write_text_file":
			go b.answer(m.ID, m.Params.Path, &b.write, func() any {
				if err := b.save(m.Params.Path, m.Params.Content); err != nil {
					return &acp.Error{Code: acp.CodeInternal, Message: err.Error()}
				}
				return nil
			})
		}
	}
}

// answer answers a request for a file.
func (b *buffers) answer(id int, path string, manner *func() *acp.Error, do func() any) {
	var result any
	var refused *acp.Error
	b.mu.Lock()
	before := *manner
	b.mu.Unlock()
	if before != nil {
		refused = before()
	}
	if refused == nil {
		b.mu.Lock()
		b.asked = append(b.asked, path)
		result = do()
		b.mu.Unlock()
		if err, ok := result.(*acp.Error); ok {
			refused = err
		}
	}
	if refused != nil {
		b.send(map[string]any{"jsonrpc": "2.0", "id": id, "error": refused})
		return
	}
	b.send(map[string]any{"jsonrpc": "2.0", "id": id, "result": result})
}

// text returns a file as the editor has it.
func (b *buffers) text(path string) (string, error) {
	text, changed := b.unsaved[path]
	if !changed {
		data, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		text = string(data)
	}
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	if b.dropsFinalNewline {
		text = strings.TrimSuffix(text, "\n")
	}
	return text, nil
}

// save replaces the text of a file, and writes it unless the editor leaves that to the person.
func (b *buffers) save(path, text string) error {
	if b.keepsUnsaved {
		b.unsaved[path] = text
		return nil
	}
	if delete(b.unsaved, path); b.format != nil {
		text = b.format(text)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	temporary := path + "~"
	if err := os.WriteFile(temporary, []byte(text), info.Mode().Perm()); err != nil {
		return err
	}
	return errors.Join(os.Chmod(temporary, info.Mode()), os.Rename(temporary, path))
}

func (b *buffers) send(m any) {
	data, err := json.Marshal(m)
	if err != nil {
		b.Error(err)
	}
	_, _ = b.out.Write(append(data, '\n')) // the test may be over
}

// call sends a request and returns its result.
func (b *buffers) call(method string, params any) json.RawMessage {
	b.Helper()
	got := make(chan reply, 1)
	b.mu.Lock()
	b.n++
	id := b.n
	b.open[id] = got
	b.mu.Unlock()
	b.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	r := <-got
	if r.Error != nil {
		b.Fatalf("%s: %v", method, r.Error)
	}
	return r.Result
}

// edit makes unsaved changes to a file.
func (b *buffers) edit(name, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unsaved[filepath.Join(b.dir, name)] = text
}

// behave sets what happens before the editor answers.
func (b *buffers) behave(read, write func() *acp.Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read, b.write = read, write
}

// reads returns a file as the session sees it.
func (b *buffers) reads(name string) string {
	b.Helper()
	f, err := b.agentEnv.Open(b.Context(), name)
	if err != nil {
		b.Fatal(err)
	}
	data, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		b.Fatal(err)
	}
	return string(data)
}

// disk returns a file on the disk.
func (b *buffers) disk(name string) string {
	b.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.Fatal(err)
	}
	return string(data)
}

// put writes a file to the disk.
func (b *buffers) put(name, data string) {
	b.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(data), 0o644); err != nil {
		b.Fatal(err)
	}
}

// replace replaces what the session sees of a file.
func (b *buffers) replace(name, data string) error {
	b.Helper()
	return env.Replace(b.Context(), b.agentEnv, name, env.HashOf([]byte(b.reads(name))), []byte(data), 0o644)
}

// said returns what the editor has been shown.
func (b *buffers) said() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.shown, "\n")
}

// An environment with the files of an editor behaves as one without.
func TestN1_FilesOfAnEditor(t *testing.T) {
	envtest.Suite(t, func(t *testing.T) env.Environment { return newBuffers(t, t.TempDir()).agentEnv })
}

// Unsaved changes are what the session reads. Its writes keep what the editor's text does not have:
// line endings, the byte order mark, the final newline.
func TestN1_UnsavedChanges(t *testing.T) {
	for _, tt := range []struct {
		name                string
		disk, unsaved, seen string // unsaved is empty for none
		written, saved      string
		dropsFinal, keeps   bool
		format              func(string) string
	}{
		{name: "saved", disk: "a\nb\n", seen: "a\nb\n", written: "A\nb\n", saved: "A\nb\n"},
		{name: "unsaved", disk: "a\n", unsaved: "a\nmine\n", seen: "a\nmine\n", written: "A\nmine\n",
			saved: "A\nmine\n"},
		{name: "carriage returns", disk: "a\r\nb\r\n", seen: "a\r\nb\r\n", written: "A\r\nb\r\n", saved: "A\r\nb\r\n"},
		{name: "carriage returns, unsaved", disk: "a\r\nb\r\n", unsaved: "a\nmine\nb\n", seen: "a\r\nmine\r\nb\r\n",
			written: "A\r\nmine\r\nb\r\n", saved: "A\r\nmine\r\nb\r\n"},
		{name: "mixed line endings", disk: "a\r\nb\nc", seen: "a\r\nb\nc", written: "a\r\nb\nC", saved: "a\r\nb\nC"},
		{name: "a byte order mark, unsaved", disk: "\ufeffa\n", unsaved: "b\n", seen: "\ufeffb\n", written: "\ufeffc\n",
			saved: "\ufeffc\n"},
		{name: "no final newline", disk: "a", seen: "a", written: "b", saved: "b"},
		{name: "no final newline, unsaved", disk: "a", unsaved: "a\nb", seen: "a\nb", written: "c", saved: "c"},
		{name: "an editor of lines", disk: "a\nb\n", seen: "a\nb\n", written: "c\n", saved: "c\n", dropsFinal: true},
		{name: "an editor of lines, unsaved", disk: "a\r\nb\r\n", unsaved: "x\ny\n", seen: "x\r\ny\r\n",
			written: "c\r\n", saved: "c\r\n", dropsFinal: true},
		{name: "an editor that does not save", disk: "a\n", unsaved: "b\n", seen: "b\n", written: "c\n", saved: "c\n",
			keeps: true},
		{name: "an editor that saves with its own line endings", disk: "a\r\n", seen: "a\r\n", written: "b\r\nc\r\n",
			saved:  "b\r\nc\r\n",
			format: func(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }},
		{name: "a formatter", disk: "a\n", seen: "a\n", written: "  b\n", saved: "b\n",
			format: func(text string) string { return strings.TrimLeft(text, " ") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBuffers(t, t.TempDir())
			b.dropsFinalNewline, b.keepsUnsaved, b.format = tt.dropsFinal, tt.keeps, tt.format
			b.put("f", tt.disk)
			if tt.unsaved != "" {
				b.edit("f", tt.unsaved)
			}
			if got := b.reads("f"); got != tt.seen {
				t.Errorf("read %q, want %q", got, tt.seen)
			}
			if err := env.Replace(t.Context(), b.agentEnv, "f", env.HashOf([]byte("another")), []byte("x"),
				0o644); !errors.Is(err, env.ErrChanged) {
				t.Errorf("with another hash: %v", err)
			}
			if got := b.disk("f"); got != tt.disk {
				t.Errorf("a refused change has written %q", got)
			}
			if err := b.replace("f", tt.written); err != nil {
				t.Fatal(err)
			}
			if got := b.disk("f"); got != tt.saved {
				t.Errorf("on the disk %q, want %q", got, tt.saved)
			}
			if got := b.reads("f"); got != tt.saved {
				t.Errorf("read afterwards %q, want %q", got, tt.saved)
			}
		})
	}
}

// What editors do not have as text, or cannot get at, is the disk's.
func TestN1_FilesOfTheDisk(t *testing.T) {
	b := newBuffers(t, t.TempDir())
	large := strings.Repeat("line\n", 2<<20)
	files := map[string]string{"binary": "a\x00b", "latin1": "caf\xe9\n", "large": large,
		"repo/.git/config": "[core]\n"}
	for name, data := range files {
		if err := os.MkdirAll(filepath.Join(b.dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		b.put(name, data)
		b.edit(name, "not asked for\n")
		if got := b.reads(name); got != data {
			t.Errorf("%s: read %d bytes, want %d", name, len(got), len(data))
		}
		if err := b.replace(name, data+"more"); err != nil || b.disk(name) != data+"more" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(b.asked) > 0 {
		t.Errorf("the editor was asked for %q", b.asked)
	}
	if err := os.Mkdir(filepath.Join(b.dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"none", "d"} {
		b.edit(name, "x")
		if f, err := b.agentEnv.Open(t.Context(), name); err == nil {
			t.Errorf("%s was opened: %v", name, f.Close())
		}
	}
	if _, err := b.agentEnv.Open(t.Context(), "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is only in the editor: %v", err)
	}

	// Unsaved changes are not lost: a content that the editor cannot take is refused.
	b.put("f", "a\n")
	b.edit("f", "b\n")
	if err := b.replace("f", "a\x00b"); err == nil || !strings.Contains(err.Error(), "unsaved changes") ||
		b.disk("f") != "a\n" {
		t.Errorf("a binary content over unsaved changes: %v, %q", err, b.disk("f"))
	}
	// A deletion asks for the content that the session has seen.
	if err := env.Delete(t.Context(), b.agentEnv, "f", env.HashOf([]byte("a\n"))); !errors.Is(err, env.ErrChanged) {
		t.Errorf("deleted with the content of the disk: %v", err)
	}
	if err := env.Delete(t.Context(), b.agentEnv, "f", env.HashOf([]byte("b\n"))); err != nil {
		t.Error(err)
	}
}

// A directory that the editor names through a link is asked for by that name.
func TestN1_FilesBehindALink(t *testing.T) {
	at := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(at, "real"), 0o755),
		os.Symlink("real", filepath.Join(at, "link"))); err != nil {
		t.Fatal(err)
	}
	b := newBuffers(t, filepath.Join(at, "link"))
	b.put("f", "a\n")
	b.edit("f", "b\n")
	if got := b.reads("f"); got != "b\n" {
		t.Errorf("read %q; asked for %q", got, b.asked)
	}
}

// An editor that fails is told about once, and the disk is used. Where unsaved changes would be
// lost, nothing is written.
func TestN1_FailingEditor(t *testing.T) {
	b := newBuffers(t, t.TempDir())
	b.put("f", "a\n")
	fails := func() *acp.Error {
		return &acp.Error{Code: acp.CodeInternal, Message: "the file is \x1b[31mnot\x1b[0m in the project."}
	}
	b.behave(fails, fails)
	for range 2 {
		if got := b.reads("f"); got != "a\n" {
			t.Errorf("read %q", got)
		}
	}
	if err := b.replace("f", "b\n"); err != nil || b.disk("f") != "b\n" {
		t.Errorf("%v, %q", err, b.disk("f"))
	}
	b.behave(nil, fails)
	for _, text := range []string{"c\n", "d\n"} {
		if err := b.replace("f", text); err != nil || b.disk("f") != text {
			t.Errorf("%v, %q", err, b.disk("f"))
		}
		if err := b.agentEnv.WriteFile(t.Context(), "new "+text[:1], []byte(text), 0o644); err != nil ||
			b.disk("new "+text[:1]) != text {
			t.Errorf("a new file: %v", err)
		}
	}
	b.edit("f", "mine\n")
	if err := b.replace("f", "x\n"); err == nil || !strings.Contains(err.Error(), "in the project") ||
		b.disk("f") != "d\n" {
		t.Errorf("unsaved changes: %v, %q", err, b.disk("f"))
	}
	b.call("session/close", map[string]any{"sessionId": b.session}) // all that was shown has been sent
	if said := b.said(); strings.Count(said, "did not give") != 1 || strings.Count(said, "did not write") != 1 ||
		strings.Contains(said, `\u001b`) {
		t.Errorf("said %s", said)
	}
}

// An editor that does not answer is not asked again for a while. The session goes on.
func TestN1_SlowEditor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		b := newBuffers(t, dir)
		never := make(chan struct{})
		defer close(never)
		hang := func() *acp.Error { <-never; return nil }
		b.put("f", "a\n")
		b.behave(hang, nil)
		began := time.Now()
		for range 3 {
			if got := b.reads("f"); got != "a\n" {
				t.Errorf("read %q", got)
			}
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("it took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		time.Sleep(2 * time.Minute) // the editor is asked again
		if _, err := b.agentEnv.Open(ctx, "f"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call that is over: %v", err)
		}
		b.behave(nil, hang)
		time.Sleep(2 * time.Minute)
		if err := b.replace("f", "b\n"); err != nil || b.disk("f") != "b\n" {
			t.Errorf("%v, %q", err, b.disk("f"))
		}
	})
}

// A session reads, edits and creates with the texts of the editor, and its model is told, once,
// that commands see other ones.
func TestN1_SessionWithUnsavedChanges(t *testing.T) {
	var requests []string
	then := func(step llmtest.Step) llmtest.Step {
		return llmtest.Func(func(_ context.Context, req *llm.Request) llmtest.Step {
			data, err := json.Marshal(req.Messages)
			if err != nil {
				t.Error(err)
			}
			requests = append(requests, string(data))
			return step
		})
	}
	b := newBuffers(t, t.TempDir(), then(llmtest.Calls(llmtest.Call("read_file", `{"file_path":"f"}`),
		llmtest.Call("grep", `{"pattern":"unsaved"}`))),
		then(llmtest.Calls(llmtest.Call("edit_file",
			`{"file_path":"f","old_string":"unsaved","new_string":"edited"}`))),
		then(llmtest.Calls(llmtest.Call("write_file", `{"file_path":"dir/new","content":"new\n"}`))),
		then(llmtest.Text("done")))
	b.put("f", "saved\n")
	b.edit("f", "unsaved\n")
	b.call("session/prompt", map[string]any{"sessionId": b.session,
		"prompt": []any{map[string]string{"type": "text", "text": "go"}}})
	if b.disk("f") != "edited\n" || b.disk("dir/new") != "new\n" || len(b.unsaved) > 0 {
		t.Errorf("on the disk %q and %q, unsaved %q", b.disk("f"), b.disk("dir/new"), b.unsaved)
	}
	if !strings.Contains(requests[1], "1 | unsaved") || strings.Contains(requests[1], "f:1:unsaved") {
		t.Errorf("read and grep: %s", requests[1])
	}
	if n := strings.Count(requests[3], "has unsaved changes in f"); n != 1 {
		t.Errorf("the model was told %d times", n)
	}
	if !strings.Contains(strings.Join(b.asked, "\n"), filepath.Join(b.dir, "dir/new")) {
		t.Errorf("the editor has not written the new file: %q", b.asked)
	}
}
