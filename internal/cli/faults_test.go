//go:build unix

package cli

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
)

// wires lists the providers with their variables, paths and models. Each speaks another wire format.
var wires = []struct{ provider, keyVar, version, model string }{
	{"anthropic", "ANTHROPIC_API_KEY", "", "claude-sonnet-5-5"},
	{"openai", "OPENAI_API_KEY", "/v1", "gpt-5.2"},
	{"gemini", "GEMINI_API_KEY", "", "gemini-3.1-pro-preview"},
	{"openai-compatible", "OPENAI_COMPATIBLE_API_KEY", "/v1", "local"},
}

// task holds the model's turns: a text with three calls, and an answer. One call appends to a file, so that a test notices if it runs
// twice.
var task = []fakellm.Turn{
	{Text: "I begin with the work now.", Calls: []fakellm.Call{
		{Name: "shell", Args: json.RawMessage(`{"command":"echo once >> log.txt"}`)},
		{Name: "read_file", Args: json.RawMessage(`{"file_path":"a.txt"}`)},
		{Name: "glob", Args: json.RawMessage(`{"pattern":"*.txt"}`)}}},
	{Text: "The work is done."},
}

// event holds the fields of an event that the tests read.
type event struct {
	Kind          string `json:"kind"`
	Text          string `json:"text"`
	Discarded     bool   `json:"discarded"`
	TextDiscarded bool   `json:"text_discarded"`
	ErrorKind     string `json:"error_kind"`
	DelayMS       int    `json:"delay_ms"`
	Reason        string `json:"reason"`
	Status        int    `json:"status"`
	IsError       bool   `json:"is_error"`
}

// runWithFault runs the task against a server of the provider's format. The first request has the fault, unless it is nil.
func runWithFault(t *testing.T, provider int, fault *fakellm.Fault) (dir string, events []event, server *fakellm.Server) {
	t.Helper()
	w := wires[provider]
	o := fakellm.Options{}
	if fault != nil {
		o.Faults = map[int]fakellm.Fault{1: *fault}
	}
	server = fakellm.New(fakellm.Script(task...), o)
	meter := llmtest.NewMeter(server)
	web := httptest.NewServer(meter)
	t.Cleanup(web.Close)
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	idle := "300s"
	if fault != nil && slices.Contains([]fakellm.FaultKind{fakellm.FaultSilence, fakellm.FaultHang, fakellm.FaultPings}, fault.Kind) {
		idle = "3s" // long enough for the healthy second request on a busy machine
	}
	cmd := attractor(t, "run", "--provider", w.provider, "--base-url", web.URL+w.version, "--model", w.model, "--yes", "--json",
		"--idle-timeout", idle, "--dir", dir, "do the work")
	cmd.Env = append(cmd.Env, w.keyVar+"=sk-secret-key")
	got := runCommand(t, cmd)
	if got.code != 0 || strings.Contains(got.stdout+got.stderr, "sk-secret-key") {
		t.Fatalf("exit code %d, stderr %s\nevents:\n%s", got.code, got.stderr, got.stdout)
	}
	for line := range strings.Lines(got.stdout) {
		var ev event
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatal(err)
		}
		events = append(events, ev)
	}
	if breaks := meter.Breaks(); len(breaks) > 0 {
		t.Errorf("later requests changed what earlier ones had sent: %q", breaks)
	}
	return dir, events, server
}

// A session works with each provider even if the first request fails in any way. Incomplete text is marked as discarded, no text or call
// is repeated, and the retry is reported.
func TestG_SessionsOverEveryFormatAndFault(t *testing.T) {
	t.Parallel()
	type expected struct {
		fault *fakellm.Fault
		kinds []string // of the error; any of them is right
		least time.Duration
	}
	faults := map[string]expected{
		"none":                       {},
		"429 with Retry-After":       {&fakellm.Fault{Kind: fakellm.FaultStatus, Status: 429, Header: map[string]string{"Retry-After": "1"}}, []string{"rate_limit"}, time.Second},
		"500":                        {&fakellm.Fault{Kind: fakellm.FaultStatus, Status: 500}, []string{"server"}, 0},
		"529":                        {&fakellm.Fault{Kind: fakellm.FaultStatus, Status: 529}, []string{"overloaded", "server"}, 0},
		"reset":                      {&fakellm.Fault{Kind: fakellm.FaultReset}, []string{"network"}, 0},
		"cut in the text":            {&fakellm.Fault{Kind: fakellm.FaultCut, After: 1}, []string{"stream"}, 0},
		"cut in a tool call":         {&fakellm.Fault{Kind: fakellm.FaultCut, After: 3}, []string{"stream"}, 0},
		"no last event":              {&fakellm.Fault{Kind: fakellm.FaultEnd, After: 99}, []string{"stream"}, 0},
		"an error in the stream":     {&fakellm.Fault{Kind: fakellm.FaultError, After: 1}, []string{"overloaded", "server"}, 0},
		"garbage in the stream":      {&fakellm.Fault{Kind: fakellm.FaultGarbage, After: 1}, []string{"stream"}, 0},
		"silence":                    {&fakellm.Fault{Kind: fakellm.FaultHang, After: 1}, []string{"timeout", "stream"}, 0},
		"nothing but pings":          {&fakellm.Fault{Kind: fakellm.FaultPings, After: 1}, []string{"timeout", "stream"}, 0},
		"silence from the beginning": {&fakellm.Fault{Kind: fakellm.FaultHang}, []string{"timeout", "stream"}, 0},
		"silence before the headers": {&fakellm.Fault{Kind: fakellm.FaultSilence}, []string{"timeout"}, 0},
	}
	for i, w := range wires {
		for name, want := range faults {
			t.Run(w.provider+"/"+name, func(t *testing.T) {
				t.Parallel()
				dir, events, server := runWithFault(t, i, want.fault)
				if log, err := os.ReadFile(filepath.Join(dir, "log.txt")); err != nil || string(log) != "once\n" {
					t.Errorf("log.txt holds %q, %v; want one line", log, err)
				}
				checkTexts(t, events)
				retries := slices.DeleteFunc(slices.Clone(events), func(e event) bool { return e.Kind != "LLM_RETRY" })
				switch {
				case want.fault == nil && len(retries) == 0:
				case len(retries) != 1:
					t.Errorf("%d retries reported: %+v", len(retries), retries)
				case !slices.Contains(want.kinds, retries[0].ErrorKind):
					t.Errorf("the error kind is %q, want one of %q", retries[0].ErrorKind, want.kinds)
				case time.Duration(retries[0].DelayMS)*time.Millisecond < want.least:
					t.Errorf("waited %d ms, want at least %v", retries[0].DelayMS, want.least)
				}
				if n := len(server.Requests()); n != 2+len(retries) {
					t.Errorf("%d requests, want %d", n, 2+len(retries))
				}
				checkResults(t, server.Requests())
			})
		}
	}
}

// checkTexts checks that each text of the task arrives once, not counting discarded ones, and that all three calls succeed.
func checkTexts(t *testing.T, events []event) {
	t.Helper()
	var told, kept []string
	for _, ev := range events {
		switch {
		case ev.Kind == "ASSISTANT_TEXT_END" && !ev.Discarded:
			kept = append(kept, ev.Text)
		case ev.Kind == "TOOL_CALL_END":
			told = append(told, "call")
			if ev.IsError {
				t.Errorf("a call failed: %+v", ev)
			}
		}
	}
	if want := []string{task[0].Text, task[1].Text}; !slices.Equal(kept, want) || len(told) != 3 {
		t.Errorf("texts %q and %d calls, want %q and 3", kept, len(told), want)
	}
}

// checkResults checks that the last request has the results of all three calls in order.
func checkResults(t *testing.T, requests []*fakellm.Request) {
	t.Helper()
	var results []string
	for _, m := range requests[len(requests)-1].Messages {
		for _, p := range m.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				results = append(results, r.Content.Text())
			}
		}
	}
	if len(results) != 3 || !strings.Contains(results[1], "hello") || !strings.Contains(results[2], "a.txt") {
		t.Errorf("the last request has the results %q", results)
	}
}
