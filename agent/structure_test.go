package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// structureProfile returns a profile with tools whose results have each kind of structure.
func structureProfile() profile.Profile {
	score := newTool("score", readOnly, func(context.Context, *tool.Call) (tool.Result, error) {
		result := tool.Text("The score is 7.")
		result.Structured = json.RawMessage(`{ "score": 7 }`)
		return result, nil
	})
	return profile.Profile{Name: "test", Provider: "test", Model: "model-1", Tools: []tool.Tool{coding.ReadFile(),
		coding.EditFile(), coding.ApplyPatch(), coding.Shell(time.Minute), coding.Process(), score}}
}

// callEnds returns the TOOL_CALL_END events.
func callEnds(events []agent.Event) []*agent.ToolCallEnd {
	var all []*agent.ToolCallEnd
	for _, ev := range events {
		if e, ok := ev.(*agent.ToolCallEnd); ok {
			all = append(all, e)
		}
	}
	return all
}

// projected returns the projection of a journal.
func projected(t *testing.T, log agent.Records) []agent.Event {
	t.Helper()
	var events []agent.Event
	if err := agent.Project(t.Context(), log, func(ev agent.Event) { events = append(events, ev) }); err != nil {
		t.Fatal(err)
	}
	return events
}

// TOOL_CALL_END has the structure of results, live, in the projection and in the replay.
func TestJ4_EventsHaveTheStructure(t *testing.T) {
	w := &workplace{t, t.TempDir()}
	w.put("edited", "before\n")
	w.put("image.png", llmtest.PNG)
	w.put("moved", "1\n")
	log := new(journal.Memory)
	var live []agent.Event
	w.runCalls(agent.Options{Journal: log, Profile: structureProfile(), Limits: agent.Limits{Diffs: 1 << 20},
		OnEvent: func(ev agent.Event) { live = append(live, ev) }},
		llmtest.Call("edit_file", map[string]any{"file_path": "edited", "old_string": "before", "new_string": "after"}),
		llmtest.Call("apply_patch",
			map[string]any{"patch": "*** Begin Patch\n*** Update File: moved\n*** Move to: there\n-1\n+2\n*** " +
				"End Patch"}),
		llmtest.Call("shell", map[string]any{"command": "echo out; exit 3"}),
		llmtest.Call("shell", map[string]any{"command": "sleep 600", "run_in_background": true}),
		llmtest.Call("score", map[string]any{}),
		reading("image.png"))
	dir, err := filepath.EvalSymlinks(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	hash := func(text string) env.Hash { return env.HashOf([]byte(text)) }
	want := []agent.ToolCallEnd{
		{Changes: []tool.Change{{Kind: tool.Modified, Path: dir + "/edited", Before: hash("before\n"),
			After: hash("after\n"), Diff: "--- a/edited\n+++ b/edited\n@@ -1,1 +1,1 @@\n-before\n+after\n"}}},
		{Changes: []tool.Change{{Kind: tool.Moved, Path: dir + "/there", From: dir + "/moved", Before: hash("1\n"),
			After: hash("2\n"),
			Diff: "diff --git a/moved b/there\nrename from moved\nrename to there\n--- a/moved\n+++ b/there\n@@ " +
				"-1,1 +1,1 @@\n-1\n+2\n"}}},
		{Ran: &tool.Ran{Exit: &env.Exit{Code: 3}, Bytes: 4, Lines: 1}},
		{Ran: &tool.Ran{ID: "2"}},
		{Structured: json.RawMessage(`{"score":7}`)},
		{Media: []llm.Media{{MIME: "image/png", Name: "image.png", Data: []byte(llmtest.PNG)}}},
	}
	replayed := []agent.Event{}
	if err := agent.Replay(t.Context(), log,
		agent.ReplayOptions{OnEvent: func(ev agent.Event) { replayed = append(replayed, ev) }}); err != nil {
		t.Fatal(err)
	}
	for name, events := range map[string][]agent.Event{"live": live, "from the journal": projected(t, log),
		"replayed": replayed} {
		got := callEnds(events)
		if len(got) != len(want) {
			t.Fatalf("%s: %d results, want %d", name, len(got), len(want))
		}
		for i, e := range got {
			structure := agent.ToolCallEnd{Changes: e.Changes, Ran: e.Ran, Structured: e.Structured, Media: e.Media}
			if e.Ran != nil && e.Ran.Exit != nil {
				ran, exit := *e.Ran, *e.Ran.Exit
				exit.Duration, ran.Exit = 0, &exit
				structure.Ran = &ran
			}
			if diff := gocmp.Diff(want[i], structure); diff != "" {
				t.Errorf("%s, %s: -want +got\n%s", name, e.Name, diff)
			}
		}
	}
}

// Without Diffs, events and journal have no file content except what the model got.
func TestJ4_NoDiffsUnlessAskedFor(t *testing.T) {
	w := &workplace{t, t.TempDir()}
	w.put("edited", "before\n")
	log := new(journal.Memory)
	w.runCalls(agent.Options{Journal: log, Profile: structureProfile()},
		llmtest.Call("edit_file", map[string]any{"file_path": "edited", "old_string": "before", "new_string": "after"}))
	for _, e := range callEnds(projected(t, log)) {
		if len(e.Changes) != 1 || e.Changes[0].Diff != "" || e.Changes[0].After == "" {
			t.Errorf("%+v", e.Changes)
		}
	}
	if _, err := agent.New(t.Context(), agent.Options{Client: &llm.Client{}, Env: env.ReadOnly(nil),
		Limits: agent.Limits{Diffs: -1}}); err == nil || !strings.Contains(err.Error(), "Options.Diffs") {
		t.Errorf("a negative number: %v", err)
	}
}

// Events have only as much media as the model can see. The history has all of it.
func TestJ4_MediaOfEventsHaveALimit(t *testing.T) {
	const size = 3 << 20
	album := newTool("album", readOnly, func(context.Context, *tool.Call) (tool.Result, error) {
		result := tool.Text("three images")
		for range 3 {
			result.Content = append(result.Content, llm.Media{MIME: "application/pdf",
				Data: bytes.Repeat([]byte("x"), size)})
		}
		return result, nil
	})
	h := open(t, setup{tools: []tool.Tool{album},
		steps: []llmtest.Step{llmtest.Calls(call("album")), llmtest.Text("done")}})
	h.submit(t, "go", agent.ReasonCompleted)
	var got []int
	for _, m := range callEnds(h.events)[0].Media {
		got = append(got, len(m.Data))
	}
	if diff := gocmp.Diff([]int{size, size, 0}, got); diff != "" {
		t.Error(diff)
	}
	for i, part := range h.History()[2].Message.Parts[0].(llm.ToolResult).Content[1:] {
		if n := len(part.(llm.Media).Data); n != size {
			t.Errorf("image %d has %d bytes in the history", i+1, n)
		}
	}
}

// If a host's tool changes a file without giving its new content, the file counts as unseen. A
// deleted file is gone.
func TestJ4_ChangesOfOtherToolsAreSeen(t *testing.T) {
	w := &workplace{t, t.TempDir()}
	for _, name := range []string{"told", "untold"} {
		w.put(name, "x\n")
	}
	w.put("gone", "x\n")
	real, err := filepath.EvalSymlinks(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	format := newTool("format", readOnly, func(context.Context, *tool.Call) (tool.Result, error) {
		result := tool.Text("formatted")
		for _, name := range []string{"told", "untold"} {
			if err := os.WriteFile(filepath.Join(w.dir, name), []byte("formatted\n"), 0o644); err != nil {
				return result, err
			}
		}
		result.Changes = []tool.Change{{Kind: tool.Modified, Path: real + "/told",
			After: env.HashOf([]byte("formatted\n"))}, {Kind: tool.Modified, Path: real + "/untold"},
			{Kind: tool.Deleted, Path: real + "/gone"}}
		return result, os.Remove(filepath.Join(w.dir, "gone"))
	})
	tools := profile.Profile{Name: "test", Provider: "test", Model: "model-1",
		Tools: []tool.Tool{coding.ReadFile(), coding.WriteFile(), format}}
	w.results(w.runCalls(agent.Options{Profile: tools}, reading("told"), reading("untold"),
		llmtest.Call("format", map[string]any{}),
		writing("told", "ours\n"), writing("untold", "ours\n"), writing("gone", "again\n")), "x", "x", "formatted",
		"Replaced", notRead, "Created")
	w.want("untold", "formatted\n")
}

// A version 2 journal, in which seen includes what calls wrote, is read, replayed and resumed.
func TestJ4_JournalsOfVersion2(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("testdata", "journals", "version2.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	records := recordsOf(string(content))
	if err := newReader(t).use(t, records); err != nil {
		t.Fatal(err)
	}
	state, err := agent.Load(t.Context(), journal.NewMemory(records...))
	if err != nil {
		t.Fatal(err)
	}
	hash := func(text string) env.Hash { return env.HashOf([]byte(text)) }
	if diff := gocmp.Diff(map[string]env.Hash{"/project/read": hash("r\n"), "/project/edited": hash("E\n"),
		"/project/made": hash("m\n"), "/project/gone": env.NoFile}, state.Seen); diff != "" {
		t.Error(diff)
	}
	for _, e := range callEnds(projected(t, journal.NewMemory(records...))) {
		if e.Changes != nil || e.Ran != nil {
			t.Errorf("%+v", e)
		}
	}
}

// A journal with changes has version 3, because older programs would take written files for unseen.
func TestJ4_JournalsHaveVersion3(t *testing.T) {
	w := &workplace{t, t.TempDir()}
	log := new(journal.Memory)
	w.runCalls(agent.Options{Journal: log}, writing("new", "n\n"))
	var err error
	var header struct{ Version int }
	var result struct{ Seen []tool.Seen }
	for _, r := range all(t, log) {
		switch r.Kind {
		case "header":
			err = json.Unmarshal(r.Data, &header)
		case "result":
			err = errors.Join(err, json.Unmarshal(r.Data, &result))
		}
	}
	if err != nil || header.Version != 3 || result.Seen != nil {
		t.Errorf("version %d, seen %v, %v", header.Version, result.Seen, err)
	}
}
