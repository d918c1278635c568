package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// everyKind runs a session whose journal gets a record of each kind, and closes it.
func everyKind(t *testing.T, log journal.Log) {
	t.Helper()
	var h *host
	of := byTask(map[string][]llmtest.Step{"kid": {llmtest.Text("The kid is done.")}})[0]
	steps := []llmtest.Step{
		llmtest.Torn("half a", llm.Errorf(llm.ErrServer, "overloaded")),
		llmtest.Calls(call("change", `"path":"a"`), call("look"), spawn("kid")),
		llmtest.Calls(llmtest.Call("wait", map[string]any{"agent_id": "agent-1"})),
		llmtest.Text("The first is done."),
		llmtest.Calls(ask("really?")),
		llmtest.Answer(llm.Thinking{Text: "Yes."}, llm.Text{Text: "The second is done."}),
		llmtest.Func(func(context.Context, *llm.Request) llmtest.Step {
			h.Interrupt()
			return llmtest.Hang()
		}),
		llmtest.Text("A summary."),
		llmtest.Text("The last is done."),
	}
	next := 0
	model := llmtest.Func(func(ctx context.Context, req *llm.Request) llmtest.Step {
		if taskOf(req) == "kid" {
			return of
		}
		next++
		return steps[next-1]
	})
	h = open(t, setup{tools: append(coding.Agents(), coding.AskUser(), echo("change"),
		newTool("look", readOnly, func(context.Context, *tool.Call) (tool.Result, error) {
			return tool.Text("looked"), nil
		})), steps: repeated(model, 20), options: agent.Options{ID: "every", Journal: log,
		Questions: &agent.Questions{},
		Subagents: &agent.Subagents{},
		Retry:     llm.RetryPolicy{Base: 1}, Policy: agent.Policy{MaxTurns: 100}}})
	if err := h.Steer(context.Background(), "to the left"); err != nil {
		t.Fatal(err)
	}
	h.submit(t, "first", agent.ReasonCompleted)
	set(t, h, effort("high"))
	h.submit(t, "second", agent.ReasonAwaitingInput)
	h.submit(t, "yes", agent.ReasonCompleted)
	h.submit(t, "third", agent.ReasonInterrupted)
	if err := h.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	h.submit(t, "fourth", agent.ReasonCompleted)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
}

func repeated(step llmtest.Step, n int) []llmtest.Step {
	steps := make([]llmtest.Step, n)
	for i := range steps {
		steps[i] = step
	}
	return steps
}

// kinds lists the kinds of records that a session can have.
var kinds = []string{"header", "input", "queued", "turn", "answer", "intent", "await", "result", "fault", "setting",
	"compact", "child", "stop", "end"}

// version2 writes a journal with each kind of record in the current format, in a directory of its
// own.
func version2(t *testing.T) (dir *journal.Dir, path string) {
	t.Helper()
	at := t.TempDir()
	dir = journal.NewDir(at)
	log, err := dir.Create(context.Background(), "every")
	if err != nil {
		t.Fatal(err)
	}
	everyKind(t, log)
	return dir, filepath.Join(at, "every.jsonl")
}

// The journal of everyKind has a record of each kind.
func TestI8_EveryKind(t *testing.T) {
	dir, _ := version2(t)
	r, err := dir.Read(context.Background(), "every")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := map[string]int{}
	for line, err := range r.Records(context.Background(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		got[line.Kind]++
	}
	for _, kind := range kinds {
		if got[kind] == 0 {
			t.Errorf("no record of the kind %s", kind)
		}
	}
	if err := agent.Replay(context.Background(), r, agent.ReplayOptions{}); err != nil {
		t.Error(err)
	}
}

// A resume cuts off a broken end and reports it to the host.
func TestI8_TornJournalIsReported(t *testing.T) {
	dir, path := version2(t)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)-5] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := dir.Open(context.Background(), "every")
	if err != nil {
		t.Fatal(err)
	}
	h := open(t, setup{options: agent.Options{Journal: log}, steps: []llmtest.Step{llmtest.Text("going on")}})
	h.submit(t, "fifth", agent.ReasonCompleted)
	warnings := only[*agent.Warning](h)
	if h.warned() != "journal_torn tools_missing" || !strings.Contains(warnings[0].Text, "line 36") {
		t.Errorf("warnings %+v", warnings)
	}
}

var flipAll = flag.Bool("flip.all", false, "flip every bit of the journal in TestI8, not one of 199")

// version1 returns the lines of a journal with each kind of record and without checksums, so that
// only the records themselves show damage.
func version1(t testing.TB) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "journals", "version1.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// recordsOf returns the records in the lines of a journal and skips invalid lines.
func recordsOf(content string) []journal.Record {
	var records []journal.Record
	for line := range strings.Lines(content) {
		var r journal.Record
		if json.Unmarshal([]byte(line), &r) == nil {
			records = append(records, r)
		}
	}
	return records
}

// reader is a host that uses journals.
type reader struct {
	env env.Environment
}

func newReader(t testing.TB) *reader {
	t.Helper()
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	return &reader{env: local}
}

// use reads a journal in every way: state, events, replay, and resuming it. It fails the test if
// one of these does not end, and returns the replay's error.
func (r *reader) use(t testing.TB, records []journal.Record) error {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(context.Background(), time.Minute, errHangs)
	defer cancel()
	log := journal.NewMemory(records...)
	_, broken := agent.Load(ctx, log)
	if err := agent.Project(ctx, log, func(agent.Event) {}); (err != nil) != (broken != nil) && len(records) > 0 {
		t.Errorf("Load = %v, Project = %v", broken, err)
	}
	replayed := agent.Replay(ctx, log, agent.ReplayOptions{})
	if broken != nil && replayed == nil {
		t.Errorf("Load = %v, and the replay came to the same records", broken)
	}
	s, err := agent.Resume(ctx, agent.Options{Journal: log, Env: r.env, Retry: llm.RetryPolicy{Base: 1},
		Questions: &agent.Questions{},
		Client: &llm.Client{Providers: []llm.Provider{llmtest.NewProvider("test",
			repeated(llmtest.Text("done"), 20)...)}},
		Profile: profile.Profile{Name: "test", Provider: "test", Model: "model-1", Tools: []tool.Tool{echo("change")}}})
	switch {
	case err == nil:
		_, err = s.Submit(ctx, "go on")
		err = errors.Join(err, s.Close())
	case broken == nil:
		t.Logf("Resume = %v", err)
	}
	if errors.Is(replayed, errHangs) || errors.Is(err, errHangs) || ctx.Err() != nil {
		t.Fatalf("it does not end: Replay = %v, Submit = %v", replayed, err)
	}
	return replayed
}

var errHangs = errors.New("it hangs")

// A record that is missing, duplicated or too early is an error, a divergence or without effect.
// Nothing hangs.
func TestI8_MovedRecords(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	records := recordsOf(version1(t))
	r := newReader(t)
	if err := r.use(t, records); err != nil {
		t.Fatal(err)
	}
	told := 0
	for i := range records {
		for name, changed := range map[string][]journal.Record{
			"cut":       records[:i],
			"missing":   slices.Concat(records[:i], records[i+1:]),
			"twice":     slices.Concat(records[:i+1], records[i:]),
			"too early": slices.Concat(records[:i/2], records[i:i+1], records[i/2:i], records[i+1:]),
			"too late":  slices.Concat(records[:i], records[i+1:], records[i:i+1]),
		} {
			err := r.use(t, changed)
			if err != nil {
				told++
			}
			if t.Failed() {
				t.Fatalf("record %d (%s) %s: %v", i+1, records[i].Kind, name, err)
			}
		}
	}
	if told < 100 {
		t.Errorf("%d of the changes were told, want most", told)
	}
	if left, err := filepath.Glob(filepath.Join(temporary, "attractor-outputs-*")); err != nil || len(left) > 0 {
		t.Errorf("outputs are left: %q, %v", left, err)
	}
}

// An impossible sequence is reported as the first record that does not fit.
func TestI8_MisfitsAreDivergences(t *testing.T) {
	records := recordsOf(version1(t))
	at := func(kind string) int {
		return slices.IndexFunc(records, func(r journal.Record) bool { return r.Kind == kind })
	}
	future := records[at("fault")]
	future.Data = []byte(strings.Replace(string(future.Data), `"retry_at":"2026`, `"retry_at":"9026`, 1))
	for name, c := range map[string]struct {
		at      int // where a record is inserted or replaced
		record  journal.Record
		replace bool
		want    string // "" if the replay gives the same records
	}{
		"a result without its call": {2, journal.Record{Kind: "result",
			Data: []byte(`{"call_id":"x","name":"look","done":true}`)}, false,
			`record 3 on: result record out of place: no call "x" is open`},
		"a result after its turn": {20, records[7], false, "no call"},
		"a result after the end": {at("await") + 2, journal.Record{Kind: "result",
			Data: []byte(`{"call_id":"call_9_0","done":true}`)}, false, "no input is open"},
		"an end without an input": {2, journal.Record{Kind: "end", Data: []byte(`{"reason":"completed"}`)},
			false, "no input is open"},
		"a question's end without an input": {2,
			journal.Record{Kind: "end", Data: []byte(`{"reason":"awaiting_input"}`)}, false, "no input is open"},
		"an end that waits for nothing": {3,
			journal.Record{Kind: "end", Data: []byte(`{"reason":"awaiting_input"}`)}, false, "no question waits"},
		"an intent of no call": {4, journal.Record{Kind: "intent", Data: []byte(`{"calls":[{"id":"x"}]}`)},
			false, `no call "x"`},
		"a question that no call asks": {4, journal.Record{Kind: "await", Data: []byte(`{"call_id":"x"}`)}, false,
			`no call "x"`},
		"a loop of no calls": {4, journal.Record{Kind: "turn",
			Data: []byte(`{"origin":"loop","loop":{"period":0,"repeats":5}}`)}, false, "no 0 calls"},
		"a loop of more calls than there": {4, journal.Record{Kind: "turn",
			Data: []byte(`{"origin":"loop","loop":{"period":2,"repeats":5}}`)}, false, "no 2 calls"},
		"a warning of no loop": {4, journal.Record{Kind: "turn", Data: []byte(`{"origin":"loop"}`)}, false,
			"no loop"},
		"steering that nobody queued": {4, journal.Record{Kind: "turn",
			Data: []byte(`{"origin":"steer","queued":9}`)}, false, "no entry 9"},
		"a follow-up that nobody queued": {16, journal.Record{Kind: "input",
			Data: []byte(`{"text":"x","queued":-1}`)}, false, "no entry -1"},
		"a summary of turns that are none": {16, journal.Record{Kind: "compact",
			Data: []byte(`{"summary":"x","first":99}`)}, false, "no turn 99"},
		"a summary from a turn before all": {16, journal.Record{Kind: "compact",
			Data: []byte(`{"summary":"x","first":-1}`)}, false, "no turn -1"},
		"a second header": {5, records[0], false, "a second header"},
		"no header":       {0, records[1], false, "record 1 on: queued record out of place: the header is missing"},
		"a header and nothing else": {1, journal.Record{Kind: "end", Data: []byte(`{"reason":"completed"}`)},
			false, "no input is open"},
		"an attempt that is never due": {at("fault"), future, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			rest := records[c.at:]
			if c.replace {
				rest = rest[1:]
			}
			err := newReader(t).use(t, slices.Concat(records[:c.at], []journal.Record{c.record}, rest))
			var d *agent.Divergence
			switch {
			case c.want == "" && err != nil:
				t.Errorf("Replay = %v", err)
			case c.want != "" && (!errors.As(err, &d) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("Replay = %v, want a divergence that says %q", err, c.want)
			}
		})
	}
}

// A retry time before its own record, after the clock was set back, is taken from the record.
func TestI8_RetryTimesComeFromTheRecords(t *testing.T) {
	records := recordsOf(version1(t))
	for i := range records {
		records[i].Time = records[0].Time.Add(-time.Duration(i) * time.Hour)
	}
	if err := newReader(t).use(t, records); err != nil {
		t.Error(err)
	}
}

// A resumed session waits for the next attempt no longer than the delay that was decided, whatever
// the clock says.
func TestI8_RetryDelayIsBounded(t *testing.T) {
	records := recordsOf(version1(t))
	at := slices.IndexFunc(records, func(r journal.Record) bool { return r.Kind == "fault" })
	future := records[at]
	future.Data = []byte(strings.Replace(string(future.Data), `"retry_at":"2026`, `"retry_at":"9026`, 1))
	log := journal.NewMemory(slices.Concat(records[:at], []journal.Record{future})...)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	h := open(t, setup{options: agent.Options{Journal: log, Subagents: &agent.Subagents{}},
		steps: []llmtest.Step{llmtest.Text("done")}})
	if result, err := h.Continue(ctx); err != nil || result.Text != "done" {
		t.Errorf("Continue = %+v, %v", result, err)
	}
}

// A question from a round that a crash has ended is answered while another call of the round runs.
// No session writes that, but the call must not wait for it.
func TestI8_AnswerOutOfTurn(t *testing.T) {
	records := recordsOf(version1(t))[:1]
	for _, line := range []string{
		`{"k":"input","d":{"text":"go"}}`,
		`{"k":"answer","d":{"message":{"role":"assistant","parts":[{"tool_call":{"id":"a","name":"ask_user","args":"{}"}},{"tool_call":{"id":"b","name":"look","args":"{}"}}]},"usage":{"input":0,"output":0},"finish":{"reason":""}}}`,
		`{"k":"await","d":{"call_id":"a","question":"?"}}`,
		`{"k":"end","d":{"session":true,"reason":"closed"}}`,
		`{"k":"input","d":{"continue":true}}`,
		`{"k":"result","d":{"call_id":"a","name":"ask_user","content":[{"text":{"text":"yes"}}]}}`,
		`{"k":"result","d":{"call_id":"b","name":"look","content":[{"text":{"text":"looked"}}]}}`,
	} {
		records = append(records, recordsOf(line)...)
	}
	newReader(t).use(t, records)
}

// An input ends for a loop after the model was warned of one, and goes on. No session writes that,
// but the journal can be read.
func TestI8_LoopAfterItsWarning(t *testing.T) {
	records := recordsOf(version1(t))[:1]
	call := func(id string) []string {
		return []string{
			`{"k":"answer","d":{"message":{"role":"assistant","parts":[{"tool_call":{"id":"` + id +
				`","name":"look","args":"{}"}}]},"usage":{"input":0,"output":0},"finish":{"reason":""}}}`,
			`{"k":"result","d":{"call_id":"` + id + `","name":"look","content":[{"text":{"text":"looked"}}]}}`,
		}
	}
	for _, line := range slices.Concat([]string{`{"k":"input","d":{"text":"go"}}`}, call("a"), []string{
		`{"k":"turn","d":{"origin":"loop","text":"Stop.","loop":{"period":1,"repeats":5}}}`,
		`{"k":"end","d":{"reason":"loop"}}`,
		`{"k":"input","d":{"continue":true}}`,
	}, call("b")) {
		records = append(records, recordsOf(line)...)
	}
	newReader(t).use(t, records)
}

// Any flipped bit of a journal leads to an error or an end, never to a panic or a hang. The lines
// have no checksums here.
func TestI8_FlippedRecords(t *testing.T) {
	content := []byte(version1(t))
	stride := 199
	if *flipAll {
		stride = 1
	}
	r := newReader(t)
	for bit := 0; bit < 8*len(content); bit += stride {
		content[bit/8] ^= 1 << (bit % 8)
		if r.use(t, recordsOf(string(content))); t.Failed() {
			t.Fatalf("bit %d of byte %d, in %q", bit%8, bit/8, content[max(0, bit/8-30):min(len(content), bit/8+30)])
		}
		content[bit/8] ^= 1 << (bit % 8)
	}
}

// FuzzReplay checks that readers terminate for any records.
func FuzzReplay(f *testing.F) {
	content := version1(f)
	lines := strings.SplitAfter(content, "\n")
	f.Add(content)
	f.Add(lines[0] + lines[1])
	f.Add(lines[0])
	f.Add(strings.Join(lines[:9], ""))
	f.Add(strings.Join(lines[:21], ""))
	f.Fuzz(func(t *testing.T, content string) {
		newReader(t).use(t, recordsOf(content))
	})
}
