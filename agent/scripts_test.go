package agent_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	wire "github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	claude "github.com/attractor-go/attractor/profile/anthropic"
)

var update = flag.Bool("update", false, "rewrite the golden parts of testdata/*.txtar")

// script is a session as testdata/*.txtar describes it: the actions of the host (options.json), the
// answers of the model (model.json), the work tree before and after, and the expected events and
// requests. Everything except the model is real: the directory, the tools, the wire format, HTTP.
type script struct {
	Prompts       []string                `json:"prompts"` // submitted one after the other
	FollowUps     []string                `json:"follow_ups"`
	MaxToolRounds int                     `json:"max_tool_rounds"`
	MaxTurns      int                     `json:"max_turns"`
	Faults        map[int]fakellm.Fault   `json:"faults"`
	On            map[string]hostReaction `json:"on"` // by event kind; each happens once
	ErrorText     string                  `json:"error"`
	turns         []fakellm.Turn
}

// hostReaction is the host's reaction to the first event of a kind.
type hostReaction struct {
	Steer     string `json:"steer"`
	FollowUp  string `json:"follow_up"`
	Interrupt bool   `json:"interrupt"`
	Abort     bool   `json:"abort"`
}

// TestScripts runs the sessions in testdata/*.txtar.
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			runScript(t, file)
		})
	}
}

func runScript(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	golden, submitted := runBy(t, archive, (*agent.Session).Submit)
	compare(t, file, archive, golden)
	golden, advanced := runBy(t, archive, advance)
	compare(t, file, archive, golden)
	if diff := gocmp.Diff(submitted, advanced); diff != "" {
		t.Errorf("the records of Submit and of Advance, -submit +advance:\n%s", diff)
	}
}

// runBy runs a session with the given function for its tasks. It returns the golden parts and the
// records.
func runBy(t *testing.T, archive *txtar.Archive, do task) (golden map[string]string, records []string) {
	t.Helper()
	sc := parseScript(t, archive)
	dir := t.TempDir()
	writeTree(t, archive, dir)
	server := fakellm.New(sc.model, fakellm.Options{Faults: sc.Faults})
	log := new(journal.Memory)
	events := sc.play(t, server, dir, log, do)
	checkReplay(t, log, events)
	scrub := strings.NewReplacer(dir, "$WORK")
	golden = map[string]string{
		"events.golden":   scrub.Replace(formatEvents(t, events)),
		"requests.golden": scrub.Replace(formatRequests(t, server.Requests())),
	}
	for name, data := range readTree(t, dir) {
		golden["after/"+name] = data
	}
	// how far a command had come when it was killed, and how long that took
	duration := regexp.MustCompile(`"duration":\d+(,"killed":\[[^]]*\])?`)
	results := 0 // consecutive results, because the order of parallel calls varies
	for _, line := range all(t, log) {
		records = append(records, duration.ReplaceAllString(scrub.Replace(agent.Comparable(line)), `"duration":0`))
		if results++; line.Kind != "result" {
			results = 0
		}
		slices.Sort(records[len(records)-results:])
	}
	return golden, records
}

// task runs a task, and the follow-ups after it, in a session.
type task func(s *agent.Session, ctx context.Context, prompt string, more ...agent.SendOption) (*agent.Result, error)

// advance does the same as Submit with Begin and Advance.
func advance(s *agent.Session, ctx context.Context, prompt string, more ...agent.SendOption) (*agent.Result, error) {
	if err := s.Begin(ctx, prompt, more...); err != nil {
		return nil, err
	}
	for {
		step, err := s.Advance(ctx)
		switch {
		case err != nil, step.Act == agent.ActRest:
			return s.Result(), err
		case step.Act == agent.ActWait:
			time.Sleep(time.Until(step.Until)) // the wait for a retry
		}
	}
}

// parseScript returns the script in an archive.
func parseScript(t *testing.T, archive *txtar.Archive) *script {
	t.Helper()
	sc := &script{Prompts: []string{"Do it."}}
	for _, f := range archive.Files {
		var target any
		switch f.Name {
		case "options.json":
			target = sc
		case "model.json":
			target = &sc.turns
		default:
			continue
		}
		dec := json.NewDecoder(bytes.NewReader(f.Data))
		dec.DisallowUnknownFields()
		if err := dec.Decode(target); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
	}
	return sc
}

// model returns the next scripted turn, with a usage that does not depend on the length of the
// temporary directory's name.
func (sc *script) model(r *fakellm.Request) fakellm.Turn {
	turn := fakellm.Script(sc.turns...)(r)
	if turn.Usage == nil {
		turn.Usage = &llm.Usage{Input: 100 * (r.Turn() + 1), Output: 10}
	}
	return turn
}

// play runs the session over HTTP with the given function for its tasks, and returns its events.
func (sc *script) play(t *testing.T, server *fakellm.Server, dir string, log journal.Log, do task) []agent.Event {
	web := httptest.NewServer(server)
	defer web.Close()
	provider, err := wire.New(wire.Options{APIKey: "test", BaseURL: web.URL})
	if err != nil {
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
	var events []agent.Event
	var session *agent.Session
	onEvent := func(ev agent.Event) {
		events = append(events, ev)
		if session != nil {
			sc.react(t, session, ev)
		}
	}
	session, err = agent.New(context.Background(), agent.Options{
		ID: "session", Client: &llm.Client{Providers: []llm.Provider{provider}}, Profile: claude.Profile(), Env: local,
		System: "You are being tested.", OnEvent: onEvent, Policy: agent.Policy{MaxToolRounds: sc.MaxToolRounds,
			MaxTurns: sc.MaxTurns},
		Retry: llm.RetryPolicy{Base: time.Millisecond}, Journal: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range sc.FollowUps {
		if err := session.FollowUp(context.Background(), text); err != nil {
			t.Fatal(err)
		}
	}
	var failure string
	for _, prompt := range sc.Prompts {
		if _, err := do(session, context.Background(), prompt); err != nil {
			failure = err.Error()
		}
	}
	if failure != sc.ErrorText {
		t.Errorf("Submit's error is %q, want %q", failure, sc.ErrorText)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	return events
}

// react does what the script says for the first event of a kind.
func (sc *script) react(t *testing.T, s *agent.Session, ev agent.Event) {
	kind := string(ev.Head().Kind)
	r, ok := sc.On[kind]
	if !ok {
		return
	}
	delete(sc.On, kind)
	if r.Steer != "" {
		if err := s.Steer(context.Background(), r.Steer); err != nil {
			t.Error(err)
		}
	}
	if r.FollowUp != "" {
		if err := s.FollowUp(context.Background(), r.FollowUp); err != nil {
			t.Error(err)
		}
	}
	if r.Interrupt {
		s.Interrupt()
	}
	if r.Abort {
		s.Abort()
	}
}

// formatEvents formats one event a line, without the parts that differ from run to run: times,
// durations, the splitting of live output, and the order of parallel calls.
func formatEvents(t *testing.T, events []agent.Event) string {
	t.Helper()
	var lines []string
	for _, ev := range joinOutput(groupCalls(events)) {
		data, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(data, &fields); err != nil {
			t.Fatal(err)
		}
		for _, volatile := range []string{"kind", "session_id", "seq", "time", "duration_ms", "latency_ms", "delay_ms",
			"containment", "hides_host"} {
			delete(fields, volatile)
		}
		if ran, ok := fields["ran"].(map[string]any); ok {
			if exit, ok := ran["exit"].(map[string]any); ok {
				delete(exit, "duration")
				delete(exit, "killed") // how far it had come
			}
			if ran["interrupted"] == true { // the order in which a tree's processes end is not fixed
				delete(ran, "exit")
			}
		}
		lines = append(lines, string(ev.Head().Kind)+" "+encode(t, fields))
	}
	return strings.Join(lines, "\n") + "\n"
}

// groupCalls sorts the events of each batch of calls by call.
func groupCalls(events []agent.Event) []agent.Event {
	var grouped []agent.Event
	for i := 0; i < len(events); {
		n, order := 0, map[string]int{}
		for ; i+n < len(events) && callOf(events[i+n]) != ""; n++ {
			if id := callOf(events[i+n]); order[id] == 0 {
				order[id] = len(order) + 1
			}
		}
		batch := slices.Clone(events[i : i+max(n, 1)])
		slices.SortStableFunc(batch, func(a, b agent.Event) int {
			return cmp.Compare(order[callOf(a)], order[callOf(b)])
		})
		grouped = append(grouped, batch...)
		i += len(batch)
	}
	return grouped
}

func callOf(ev agent.Event) string {
	switch e := ev.(type) {
	case *agent.ToolCallStart:
		return e.CallID
	case *agent.ToolCallOutputDelta:
		return e.CallID
	case *agent.ToolCallEnd:
		return e.CallID
	}
	return ""
}

// joinOutput joins consecutive output deltas of a stream.
func joinOutput(events []agent.Event) []agent.Event {
	var joined []agent.Event
	for _, ev := range events {
		d, ok := ev.(*agent.ToolCallOutputDelta)
		if ok && len(joined) > 0 {
			if last, ok := joined[len(joined)-1].(*agent.ToolCallOutputDelta); ok && last.CallID == d.CallID &&
				last.Stream == d.Stream {
				whole := *last
				whole.Text += d.Text
				joined[len(joined)-1] = &whole
				continue
			}
		}
		joined = append(joined, ev)
	}
	return joined
}

// formatRequests formats the messages of each request that the previous request did not have. It
// also checks that the earlier messages are unchanged.
func formatRequests(t *testing.T, requests []*fakellm.Request) string {
	t.Helper()
	var b strings.Builder
	var sent []llm.Message
	for _, r := range requests {
		fmt.Fprintf(&b, "request %d", r.N)
		if r.N == 1 {
			fmt.Fprintf(&b, " model=%s tools=%s system=%q", r.Model, strings.Join(r.Tools, ","), r.System)
		}
		b.WriteByte('\n')
		if len(r.Messages) < len(sent) || len(sent) > 0 && !gocmp.Equal(sent, r.Messages[:len(sent)]) {
			t.Errorf("request %d does not begin with the messages of the one before", r.N)
			sent = nil
		}
		for _, m := range r.Messages[len(sent):] {
			fmt.Fprintf(&b, "  %s %s\n", m.Role, encode(t, m.Parts))
		}
		sent = r.Messages
	}
	return b.String()
}

func encode(t *testing.T, value any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// writeTree writes the files of an archive's work tree into a directory.
func writeTree(t *testing.T, archive *txtar.Archive, dir string) {
	t.Helper()
	for _, f := range archive.Files {
		name, ok := strings.CutPrefix(f.Name, "before/")
		if !ok {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// readTree returns the content of the files in a directory by path.
func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		tree[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// compare checks the golden parts of the archive, or rewrites them with -update.
func compare(t *testing.T, file string, archive *txtar.Archive, golden map[string]string) {
	t.Helper()
	isGolden := func(name string) bool {
		return strings.HasSuffix(name, ".golden") || strings.HasPrefix(name, "after/")
	}
	if *update {
		archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return isGolden(f.Name) })
		names := slices.Sorted(maps.Keys(golden))
		for _, name := range names {
			archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(golden[name])})
		}
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := map[string]string{}
	for _, f := range archive.Files {
		if isGolden(f.Name) {
			want[f.Name] = string(f.Data)
		}
	}
	if diff := gocmp.Diff(want, golden); diff != "" {
		t.Errorf("-want +got (run with -update to accept):\n%s", diff)
	}
}
