package web_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/longsession"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/sessions"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
	"github.com/attractor-go/attractor/web"
)

// file holds an exported page as a browser would read it.
type file struct {
	blocks   []dataBlock
	elements map[string]int // how many there are of each kind
	policy   string
	scripts  []string // that run
	styles   []string
}

// dataBlock is a block of data.
type dataBlock struct {
	kind, session, first, hash string
	text                       string
}

// parseFile reads a page.
func parseFile(t *testing.T, page []byte) *file {
	t.Helper()
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	f := &file{elements: map[string]int{}}
	for n := range doc.Descendants() {
		if n.Type == html.CommentNode {
			f.elements["<!-- -->"]++
		}
		if n.Type != html.ElementNode {
			continue
		}
		attr := map[string]string{}
		for _, a := range n.Attr {
			attr[a.Key] = a.Val
		}
		text := ""
		if n.FirstChild != nil {
			text = n.FirstChild.Data
		}
		switch {
		case n.Data == "script" && attr["type"] == "application/json":
			f.blocks = append(f.blocks, dataBlock{attr["data-kind"], attr["data-session"], attr["data-first"],
				attr["data-hash"], text})
			continue
		case n.Data == "script":
			f.scripts = append(f.scripts, text)
		case n.Data == "style":
			f.styles = append(f.styles, text)
		case n.Data == "meta" && attr["http-equiv"] == "Content-Security-Policy":
			f.policy = attr["content"]
		}
		f.elements[n.Data]++
	}
	return f
}

// read decodes the blocks of a kind and a session into a list.
func read[T any](t *testing.T, f *file, kind, session string) (all []T) {
	t.Helper()
	for _, b := range f.blocks {
		if b.kind != kind || b.session != session {
			continue
		}
		var list []T
		if !strings.HasPrefix(b.text, "[") {
			b.text = "[" + b.text + "]"
		}
		if err := json.Unmarshal([]byte(b.text), &list); err != nil {
			t.Fatalf("a block of %s: %v", kind, err)
		}
		if b.first != "" && b.first != fmt.Sprint(len(all)) {
			t.Errorf("a block of %s begins with number %s after %d", kind, b.first, len(all))
		}
		all = append(all, list...)
	}
	return all
}

// export returns the page of a session.
func export(t *testing.T, store journal.Store, id string, o web.ExportOptions) *file {
	t.Helper()
	var page bytes.Buffer
	if err := web.Export(t.Context(), &page, store, id, o); err != nil {
		t.Fatal(err)
	}
	return parseFile(t, page.Bytes())
}

// spawning runs a session that prints a text in many places, keeps its output whole, and starts a
// subagent that does the same.
func spawning(t *testing.T, store journal.Store, text string) {
	t.Helper()
	valid := strings.ToValidUTF8(text, "\ufffd")
	print := func(task string) []llmtest.Step {
		return []llmtest.Step{llmtest.Calls(llmtest.Call("shell",
			map[string]any{"command": "cat text; # " + strings.ReplaceAll(valid, "\x00", "")})),
			llmtest.Text(task + valid)}
	}
	parent := []llmtest.Step{llmtest.Calls(llmtest.Call("spawn_agent", map[string]any{"task": "part of it: " + valid})),
		llmtest.Calls(llmtest.Call("wait", map[string]any{"agent_id": "agent-1"}))}
	parent = append(parent, print("all ")...)
	run(t, store, text+"\n"+strings.Repeat(text+"\n", 70_000/(len(text)+1)), "all of it: "+valid,
		byFirstMessage(parent, print("part "))...)
}

// printing runs a session that prints a line.
func printing(t *testing.T, store journal.Store, line string) {
	t.Helper()
	run(t, store, line+"\n", "print it", llmtest.Calls(llmtest.Call("shell", map[string]any{"command": "cat text"})),
		llmtest.Text("done"))
}

// run runs a session with the id parent, in a directory with a file that is called text. Its
// subagent has the id child.
func run(t *testing.T, store journal.Store, text, input string, steps ...llmtest.Step) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "text"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	local, err := env.NewLocal(dir, env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	}()
	log, err := store.Create(t.Context(), "parent")
	if err != nil {
		t.Fatal(err)
	}
	s, err := agent.New(t.Context(),
		agent.Options{ID: "parent",
			Client: &llm.Client{Providers: []llm.Provider{llmtest.NewProvider("test", steps...)}}, Env: local,
			Journal: log,
			Profile: profile.Profile{Name: "test", Provider: "test", Model: "m",
				Tools: append(coding.Agents(), coding.Shell(time.Minute))},
			Hooks: agent.Hooks{Authorize: func(context.Context, tool.Request) (tool.Decision, error) {
				return tool.Decision{Verdict: tool.Allow}, nil
			}},
			NewID:     func() string { return "child" },
			Subagents: &agent.Subagents{Journal: store.Create}, Limits: agent.Limits{KeepOutputs: 1 << 30}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Submit(t.Context(), input)
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
}

// byFirstMessage returns steps that follow one script for the session and another one for its
// subagent.
func byFirstMessage(parent, child []llmtest.Step) []llmtest.Step {
	var all []llmtest.Step
	for range len(parent) + len(child) {
		all = append(all, llmtest.Func(func(_ context.Context, req *llm.Request) llmtest.Step {
			script := &parent
			for _, m := range req.Messages {
				if strings.Contains(fmt.Sprint(m.Parts), "part of it: ") && !strings.Contains(fmt.Sprint(m.Parts),
					"all of it: ") && m.Role == llm.RoleUser {
					script = &child
				}
			}
			step := (*script)[0]
			*script = (*script)[1:]
			return step
		}))
	}
	return all
}

// hostile holds texts that try to leave the place where they stand.
func hostile() map[string]string {
	return map[string]string{
		"plain":      "ok",
		"end":        "</script><script>window.pwned=1</script><img src=x onerror=alert(1)>",
		"comment":    "<!--<script>--><!-- <script ",
		"svg":        "<svg onload=alert(1)><style>*{display:none}</style></svg>",
		"separators": "a\u2028b\u2029c\u0085d",
		"rtl":        "\u202egnp.exe\u2066 \u200b\ufeff",
		"nul":        "a\x00b\x1b]0;x\x07c",
		"invalid":    "a\xff\xfe\xc3(b\xed\xa0\x80",
		"entities":   "&lt;/script&gt; &amp; ]]> <![CDATA[ ' \" ` ${x}",
	}
}

// Hostile texts of a session and of its subagent change nothing in the structure of the page, and
// come out of it as they went in.
func TestN5_ExportHostileTexts(t *testing.T) {
	var plain map[string]int
	for _, name := range []string{"plain", "end", "comment", "svg", "separators", "rtl", "nul", "invalid", "entities"} {
		text := hostile()[name]
		store := journal.NewMemoryStore(false)
		spawning(t, store, text)
		f := export(t, store, "parent", web.ExportOptions{})
		if plain == nil {
			plain = f.elements
		}
		if fmt.Sprint(f.elements) != fmt.Sprint(plain) {
			t.Errorf("%s: the page has %v, want %v", name, f.elements, plain)
		}
		for _, id := range []string{"parent", "child"} {
			rows, items := read[web.Row](t, f, "rows", id), read[web.Item](t, f, "items", id)
			if len(rows) == 0 || len(rows) != len(items) {
				t.Errorf("%s: session %s has %d rows and %d items", name, id, len(rows), len(items))
			}
			all, err := json.Marshal(items)
			if err != nil {
				t.Fatal(err)
			}
			want, err := json.Marshal(strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\ufffd"))
			if err != nil {
				t.Fatal(err)
			}
			if name != "nul" && name != "invalid" && !bytes.Contains(all, bytes.Trim(want, `"`)) {
				t.Errorf("%s: the items of %s do not have the text", name, id)
			}
			outputs := read[string](t, f, "output", id)
			if len(outputs) != 1 || name != "nul" && name != "invalid" && !strings.HasPrefix(outputs[0], text) {
				t.Errorf("%s: session %s has %d outputs", name, id, len(outputs))
			}
		}
	}
}

// The policy of the page lets exactly its own script and style sheet run, and nothing in it refers
// to a network.
func TestN5_ExportPolicy(t *testing.T) {
	store := journal.NewMemoryStore(false)
	spawning(t, store, "ok")
	f := export(t, store, "parent", web.ExportOptions{})
	if len(f.scripts) != 1 || len(f.styles) != 1 {
		t.Fatalf("%d scripts and %d style sheets", len(f.scripts), len(f.styles))
	}
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	for _, want := range []string{"default-src 'none';", "script-src " + hash(f.scripts[0]) + ";",
		"style-src " + hash(f.styles[0]) + ";", "trusted-types 'none'"} {
		if !strings.Contains(f.policy, want) {
			t.Errorf("the policy lacks %q: %s", want, f.policy)
		}
	}
	if strings.Contains(f.scripts[0], "http://") && !strings.Contains(f.scripts[0], "http://www.w3.org/2000/svg") ||
		strings.Contains(f.styles[0], "url(http") {
		t.Error("the page refers to a network")
	}
	var e struct{ Session string }
	for _, b := range f.blocks {
		if b.kind == "export" {
			if err := json.Unmarshal([]byte(b.text), &e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if e.Session != "parent" {
		t.Errorf("the page opens the session %q", e.Session)
	}
	var ids []string
	for _, s := range read[sessions.Summary](t, f, "sessions", "") {
		ids = append(ids, s.ID)
	}
	if strings.Join(ids, " ") != "child parent" {
		t.Errorf("the list has %q", ids)
	}
}

// notes returns what a page says about itself.
func (f *file) notes(t *testing.T) string {
	t.Helper()
	for _, b := range f.blocks {
		if b.kind == "export" {
			var e struct{ Notes []string }
			if err := json.Unmarshal([]byte(b.text), &e); err != nil {
				t.Fatal(err)
			}
			return strings.Join(e.Notes, " ")
		}
	}
	return ""
}

// Outputs that are too long are left out, each or all together, and the page says so.
func TestN5_ExportLimitsOutputs(t *testing.T) {
	store := journal.NewMemoryStore(false)
	spawning(t, store, "a line of output")
	for _, c := range []struct {
		o    web.ExportOptions
		want int
		says string
	}{
		{web.ExportOptions{}, 2, ""},
		{web.ExportOptions{Output: 1000}, 0, "2 whole outputs are not in this file"},
		{web.ExportOptions{Output: -1}, 0, "2 whole outputs are not in this file"},
		{web.ExportOptions{Outputs: 100_000}, 1, "One whole output is not in this file"},
	} {
		f := export(t, store, "parent", c.o)
		got := len(read[string](t, f, "output", "parent")) + len(read[string](t, f, "output", "child"))
		if got != c.want {
			t.Errorf("%+v: %d outputs, want %d", c.o, got, c.want)
		}
		if !strings.Contains(f.notes(t), c.says) || c.says == "" && strings.Contains(f.notes(t), "output") {
			t.Errorf("%+v: the page says %q", c.o, f.notes(t))
		}
	}
}

// No form of a secret is in the page.
func TestN5_ExportMasks(t *testing.T) {
	const value = "canary-host-secret-7f3a9c"
	store := journal.NewMemoryStore(false)
	spawning(t, store, value+" "+base64.StdEncoding.EncodeToString([]byte(value)))
	m := new(secret.Masker)
	if err := m.Register("TOKEN", value); err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := web.Export(t.Context(), &page, store, "parent", web.ExportOptions{Masker: m}); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{value, base64.StdEncoding.EncodeToString([]byte(value))} {
		if at := bytes.Index(page.Bytes(), []byte(form)); at >= 0 {
			t.Errorf("the page has the secret: %s", page.Bytes()[max(0, at-200):at+50])
		}
	}
	if !bytes.Contains(page.Bytes(), []byte("[secret TOKEN]")) {
		t.Error("nothing was masked")
	}
}

// A session whose subagent's journal is gone or cannot be opened is exported without it.
func TestN5_ExportWithoutChild(t *testing.T) {
	dir := t.TempDir()
	store := journal.NewDir(dir)
	spawning(t, store, "ok")
	name := filepath.Join(dir, "child.jsonl")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	copy(whole[len(whole)/3:], "no journal")
	if err := os.WriteFile(name, whole[:len(whole)-9], 0o600); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		f := export(t, store, "parent", web.ExportOptions{})
		if n := len(read[web.Row](t, f, "rows", "child")); n != 0 || !strings.Contains(f.notes(t),
			"one subagent is not there any more, or cannot be read") {
			t.Errorf("%d rows of the child; the page says %q", n, f.notes(t))
		}
	}
	check()
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	check()
	if err := web.Export(t.Context(), io.Discard, store, "child", web.ExportOptions{}); !errors.Is(err,
		fs.ErrNotExist) {
		t.Errorf("a session that is not there: %v", err)
	}
}

// The journal of a process that died at any time has no subagent that still runs, and is known by
// its own name, not by that of the session that it is a copy of.
func TestN5_ExportOfDeadSessions(t *testing.T) {
	store := journal.NewDir(t.TempDir())
	spawning(t, store, "ok")
	whole, err := store.Read(t.Context(), "parent")
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	interrupted := 0
	for at := int64(1); at <= whole.Len(); at++ {
		id := fmt.Sprint("dead-", at)
		log, err := store.Fork(t.Context(), "parent", id, at, func(*journal.Record) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		all := read[web.Overview](t, export(t, store, id, web.ExportOptions{}), "overview", id)
		if len(all) != 1 || all[0].ID != id {
			t.Fatalf("the overviews of %s: %+v", id, all)
		}
		for _, c := range all[0].Children {
			switch c.Status {
			case "running":
				t.Errorf("%s: a subagent still runs", id)
			case "interrupted":
				interrupted++
			}
		}
	}
	if interrupted == 0 {
		t.Error("no subagent was interrupted")
	}
}

// A journal that breaks off, is damaged or has another writer is exported as far as it goes, and
// the page says so.
func TestN5_ExportDamagedJournals(t *testing.T) {
	dir := t.TempDir()
	store := journal.NewDir(dir)
	if err := longsession.Write(t.Context(), store, "long", 30); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "long.jsonl")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	all := len(read[web.Row](t, export(t, store, "long", web.ExportOptions{}), "rows", "long"))
	middle := bytes.Clone(whole)
	middle[len(middle)/2] ^= 1
	for what, c := range map[string]struct {
		data []byte
		says string
	}{"torn": {whole[:len(whole)-len(whole)/10], "broken and left out"}, "damaged": {middle, ""}} {
		if err := os.WriteFile(name, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		f := export(t, store, "long", web.ExportOptions{})
		rows := len(read[web.Row](t, f, "rows", "long"))
		if rows == 0 || rows >= all || !strings.Contains(f.notes(t), c.says) {
			t.Errorf("%s: %d of %d rows; the page says %q", what, rows, all, f.notes(t))
		}
		if o := read[web.Overview](t, f, "overview", "long"); what == "damaged" && o[0].Problem == "" {
			t.Errorf("%s: the overview names no problem", what)
		}
	}
	if err := os.WriteFile(name, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := store.Open(t.Context(), "long")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() // nothing was written
	if n := len(read[web.Row](t, export(t, store, "long", web.ExportOptions{}), "rows", "long")); n != all {
		t.Errorf("%d rows of a journal with a writer, want %d", n, all)
	}
}

// full is a disk with little room.
type full struct{ room int }

func (d *full) Write(p []byte) (int, error) {
	if d.room -= len(p); d.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

var errFull = errors.New("no space left on device")

// A disk that is full ends an export with its error, wherever it happens, and so does a context
// that ends.
func TestN5_ExportErrors(t *testing.T) {
	store := journal.NewMemoryStore(false)
	if err := longsession.Write(t.Context(), store, "long", 600); err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := web.Export(t.Context(), &page, store, "long", web.ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	for n := 0; n < page.Len(); n += page.Len()/20 + 1 {
		if err := web.Export(t.Context(), &full{n}, store, "long", web.ExportOptions{}); !errors.Is(err, errFull) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := web.Export(ctx, io.Discard, store, "long", web.ExportOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("after its context has ended: %v", err)
	}
}

// The file has the same rows, details and overview as the server's answers.
func TestN5_ExportIsWhatTheServerShows(t *testing.T) {
	store := journal.NewMemoryStore(false)
	spawning(t, store, "a line & <more>")
	if err := longsession.Write(t.Context(), store, "long", 700); err != nil {
		t.Fatal(err)
	}
	v := view(t, web.Options{Store: store})
	for _, id := range []string{"parent", "child", "long"} {
		root := id
		if id == "child" {
			root = "parent"
		}
		f := export(t, store, root, web.ExportOptions{})
		rows, items := read[json.RawMessage](t, f, "rows", id), read[json.RawMessage](t, f, "items", id)
		live := v.watch(id)
		live.until(func(m message) bool { return m.Type == "overview" })
		for i, row := range live.rows {
			if data, err := json.Marshal(row); err != nil || string(data) != string(rows[i]) {
				t.Fatalf("%s: row %d is %s in the file, %s live", id, i, rows[i], data)
			}
		}
		for i := 0; i < len(items); i += 1 + len(items)/50 {
			if live := v.do("GET", fmt.Sprintf("/api/sessions/%s/items/%d", id, i), "",
				nil).body; strings.TrimSpace(live) != string(items[i]) {
				t.Errorf("%s: item %d is %s in the file, %s live", id, i, items[i], live)
			}
		}
		for _, b := range f.blocks {
			if b.session == id && b.kind == "items" && len(b.text) > 300<<10 || b.kind == "rows" &&
				strings.Count(b.text, `"seq"`) > 500 {
				t.Errorf("%s: the block of %s from %s on has %d bytes", id, b.kind, b.first, len(b.text))
			}
		}
		o := read[web.Overview](t, f, "overview", id)
		if len(o) != 1 || o[0].Rows != len(rows) || len(items) != len(rows) || o[0].State != web.StateIdle &&
			o[0].State != web.StateClosed {
			t.Errorf("%s: %d overviews, %d rows, %d items: %+v", id, len(o), len(rows), len(items), o)
		}
	}
}

// A copy of a journal is exported under the name of its file, which the header does not have.
func TestN5_ExportOfCopies(t *testing.T) {
	dir := t.TempDir()
	store := journal.NewDir(dir)
	if err := longsession.Write(t.Context(), store, "long", 30); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "long.jsonl"), filepath.Join(dir, "copy.jsonl")); err != nil {
		t.Fatal(err)
	}
	f := export(t, store, "copy", web.ExportOptions{})
	shown := read[struct{ Session string }](t, f, "export", "")
	sessions := read[sessions.Summary](t, f, "sessions", "")
	o := read[web.Overview](t, f, "overview", "copy")
	if len(shown) != 1 || shown[0].Session != "copy" || len(sessions) != 1 || sessions[0].ID != "copy" || len(o) != 1 ||
		o[0].ID != "copy" {
		t.Errorf("the page shows %+v of %+v, with %d overviews", shown, sessions, len(o))
	}
}

// A line of ten megabytes changes nothing in the structure of the page.
func TestN5_ExportLongLine(t *testing.T) {
	store := journal.NewMemoryStore(false)
	line := strings.Repeat("</script><!--", 10<<20/13)
	printing(t, store, line)
	f := export(t, store, "parent", web.ExportOptions{Output: 20 << 20})
	if outputs := read[string](t, f, "output", "parent"); len(outputs) != 1 || !strings.HasPrefix(outputs[0], line) {
		t.Errorf("%d outputs without the line", len(outputs))
	}
	if f.elements["script"] != 1 || f.elements["<!-- -->"] != 0 {
		t.Errorf("the page has %v", f.elements)
	}
}

// peak counts bytes, and samples the heap while they are written.
type peak struct{ written, heap uint64 }

func (p *peak) Write(b []byte) (int, error) {
	before := p.written >> 22
	if p.written += uint64(len(b)); p.written>>22 != before {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		p.heap = max(p.heap, m.HeapAlloc)
	}
	return len(b), nil
}

// BenchmarkN5_Export exports a journal of 50 MB. It reports the time in passes of encoding/json
// over the file, and the largest heap.
func BenchmarkN5_Export(b *testing.B) {
	dir := b.TempDir()
	store := journal.NewDir(dir)
	if err := longsession.Write(b.Context(), store, "long", 27_000); err != nil {
		b.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "long.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	begun := time.Now()
	for line := range bytes.Lines(data) {
		var value any
		if err := json.Unmarshal(line, &value); err != nil {
			b.Fatal(err)
		}
	}
	pass, size := time.Since(begun), len(data)
	data = nil
	runtime.GC()
	var p peak
	for b.Loop() {
		if err := web.Export(b.Context(), &p, store, "long", web.ExportOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/pass.Seconds(), "passes")
	b.ReportMetric(float64(p.heap)/1e6, "MB-heap")
	b.ReportMetric(float64(p.written)/float64(b.N)/float64(size), "times-the-journal")
}
