//go:build unix

package cli

// The tests of this file wait the longest, for further attempts at model calls. Parallel tests
// start in the order of their files, and so the others run while these wait.

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

// wires lists the providers with their variables, paths and models. Each speaks another wire
// format.
var wires = []struct{ provider, keyVar, version, model string }{
	{"anthropic", "ANTHROPIC_API_KEY", "", "claude-sonnet-5-5"},
	{"openai", "OPENAI_API_KEY", "/v1", "gpt-5.2"},
	{"gemini", "GEMINI_API_KEY", "", "gemini-3.1-pro-preview"},
	{"openai-compatible", "OPENAI_COMPATIBLE_API_KEY", "/v1", "local"},
}

// task holds the model's turns: a text with three calls, and an answer. One call appends to a file,
// so that a test notices if it runs twice.
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

// runWithFault runs the task against a server of the provider's format. The first request has the
// fault, unless it is nil.
func runWithFault(t *testing.T, provider int,
	fault *fakellm.Fault) (dir string, events []event, server *fakellm.Server) {
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
	if fault != nil && slices.Contains([]fakellm.FaultKind{fakellm.FaultSilence, fakellm.FaultHang, fakellm.FaultPings},
		fault.Kind) {
		idle = "3s" // long enough for the healthy second request on a busy machine
	}
	cmd := attractorCommand(t, "run", "--provider", w.provider, "--base-url", web.URL+w.version, "--model", w.model,
		"--yes", "--json", "--idle-timeout", idle, "--dir", dir, "do the work")
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

// A session works with each provider even if the first request fails in any way. Incomplete text is
// marked as discarded, no text or call is repeated, and the retry is reported.
func TestG_SessionsOverEveryFormatAndFault(t *testing.T) {
	t.Parallel()
	type expected struct {
		fault *fakellm.Fault
		kinds []string // of the error; any of them is right
		least time.Duration
	}
	faults := map[string]expected{
		"none": {},
		"429 with Retry-After": {&fakellm.Fault{Kind: fakellm.FaultStatus, Status: 429,
			Header: map[string]string{"Retry-After": "1"}}, []string{"rate_limit"}, time.Second},
		"500":                {&fakellm.Fault{Kind: fakellm.FaultStatus, Status: 500}, []string{"server"}, 0},
		"529":                {&fakellm.Fault{Kind: fakellm.FaultStatus, Status: 529}, []string{"overloaded", "server"}, 0},
		"reset":              {&fakellm.Fault{Kind: fakellm.FaultReset}, []string{"network"}, 0},
		"cut in the text":    {&fakellm.Fault{Kind: fakellm.FaultCut, After: 1}, []string{"stream"}, 0},
		"cut in a tool call": {&fakellm.Fault{Kind: fakellm.FaultCut, After: 3}, []string{"stream"}, 0},
		"no last event":      {&fakellm.Fault{Kind: fakellm.FaultEnd, After: 99}, []string{"stream"}, 0},
		"an error in the stream": {&fakellm.Fault{Kind: fakellm.FaultError, After: 1},
			[]string{"overloaded", "server"}, 0},
		"garbage in the stream": {&fakellm.Fault{Kind: fakellm.FaultGarbage, After: 1}, []string{"stream"}, 0},
		"silence":               {&fakellm.Fault{Kind: fakellm.FaultHang, After: 1}, []string{"timeout", "stream"}, 0},
		"nothing but pings": {&fakellm.Fault{Kind: fakellm.FaultPings, After: 1},
			[]string{"timeout", "stream"}, 0},
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

// checkTexts checks that each text of the task arrives once, not counting discarded ones, and that
// all three calls succeed.
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

func TestH_ExitCodesAndMessages(t *testing.T) {
	t.Parallel() // two of them wait for all retries
	url, _ := serve(t, nil, fakellm.Turn{Text: "The answer."})
	loop, _ := serve(t, nil, say("", use("shell", map[string]any{"command": "true"})),
		say("", use("shell", map[string]any{"command": "true"})))
	refusing, _ := serve(t, map[int]fakellm.Fault{1: {Kind: fakellm.FaultStatus, Status: 401}})
	silent, _ := serve(t, map[int]fakellm.Fault{1: {Kind: fakellm.FaultHang}}, fakellm.Turn{Text: "x"})
	torn, _ := serve(t, map[int]fakellm.Fault{1: {Kind: fakellm.FaultCut, After: 1}},
		fakellm.Turn{Text: "The answer, whole this time."})
	broken := map[int]fakellm.Fault{}
	for n := range 10 {
		broken[n] = fakellm.Fault{Kind: fakellm.FaultEnd}
	}
	alwaysTorn, _ := serve(t, broken, fakellm.Turn{Text: "never whole"})
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	key := "ANTHROPIC_API_KEY=sk-secret-key"
	tests := []struct {
		name   string
		args   []string
		env    []string
		stdin  string
		code   int
		stdout string
		stderr []string // all of them
	}{
		{name: "no arguments", code: 0, stdout: "attractor run"},
		{name: "help", args: []string{"run", "--help"}, code: 0, stdout: "Exit codes:"},
		{name: "version", args: []string{"version"}, code: 0, stdout: "attractor "},
		{name: "an unknown command", args: []string{"walk"}, code: 2, stderr: []string{`unknown command "walk"`}},
		{name: "a command with a slip", args: []string{"chta"}, code: 2,
			stderr: []string{`unknown command "chta"; do you mean chat?`}},
		{name: "an unknown flag", args: []string{"run", "--bogus", "x"}, code: 2,
			stderr: []string{"--bogus", "--help"}},
		{name: "a bad flag value", args: []string{"run", "--max-rounds", "many", "x"}, code: 2,
			stderr: []string{"many"}},
		{name: "no prompt", args: []string{"run", "--yes"}, code: 2, stderr: []string{"prompt is empty"}},
		{name: "an empty prompt on stdin", args: []string{"run", "--yes", "-"}, stdin: " \n", code: 2,
			stderr: []string{"prompt is empty"}},
		{name: "no permission mode without a terminal", args: []string{"run", "x"}, env: []string{key}, code: 2,
			stderr: []string{"--yes", "--read-only"}},
		{name: "two permission modes", args: []string{"run", "--yes", "--read-only", "x"}, env: []string{key}, code: 2,
			stderr: []string{"cannot be used together"}},
		{name: "no key", args: []string{"run", "--yes", "x"}, code: 4,
			stderr: []string{"ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_COMPATIBLE_BASE_URL", "attractor demo"}},
		{name: "no key for the provider", args: []string{"run", "--yes", "--provider", "gemini", "x"}, code: 4,
			stderr: []string{"GEMINI_API_KEY or GOOGLE_API_KEY", "GEMINI_BASE_URL", "attractor demo"}},
		{name: "several keys", args: []string{"run", "--yes", "x"}, env: []string{key, "OPENAI_API_KEY=sk-secret-key"},
			code: 4, stderr: []string{"anthropic, openai", "--provider"}},
		{name: "a compatible server without its URL", args: []string{"run", "--yes", "--provider", "openai-compatible",
			"x"}, env: []string{key}, code: 4, stderr: []string{"OPENAI_COMPATIBLE_BASE_URL"}},
		{name: "a compatible server without a model", args: []string{"run", "--yes", "--provider", "openai-compatible",
			"--base-url", url + "/v1", "x"}, code: 2, stderr: []string{"--model"}},
		{name: "a compatible server that needs no key", args: []string{"run", "--yes", "--provider",
			"openai-compatible", "--base-url", url + "/v1", "--model", "m", "x"}, code: 0, stdout: "The answer.\n"},
		{name: "a compatible server alone", args: []string{"run", "--yes", "--model", "m", "x"},
			env: []string{"OPENAI_COMPATIBLE_BASE_URL=" + url + "/v1"}, code: 0, stdout: "The answer.\n"},
		{name: "an unknown provider", args: []string{"run", "--yes", "--provider", "acme", "x"}, env: []string{key},
			code: 2, stderr: []string{`"acme"`, "anthropic"}},
		{name: "an unknown profile", args: []string{"run", "--yes", "--profile", "acme", "x"}, env: []string{key},
			code: 2, stderr: []string{`"acme"`, "anthropic"}},
		{name: "a missing directory", args: []string{"run", "--yes", "--dir", "/does/not/exist", "x"},
			env: []string{key}, code: 2, stderr: []string{"/does/not/exist"}},
		{name: "a directory that is a file", args: []string{"run", "--yes", "--dir", file, "x"}, env: []string{key},
			code: 2, stderr: []string{file}},
		{name: "missing instructions", args: []string{"run", "--yes", "--instructions", "@/none", "x"},
			env: []string{key}, code: 2, stderr: []string{"/none"}},
		{name: "a bad base URL", args: []string{"run", "--yes", "--base-url", "not a url", "x"}, env: []string{key},
			code: 2, stderr: []string{"--base-url must be"}},
		{name: "an answer", args: []string{"run", "--yes", "--base-url", url, "what", "is", "it"}, env: []string{key},
			code: 0, stdout: "The answer.\n", stderr: []string{"done", "1 turn", "tokens"}},
		{name: "flags after the prompt", args: []string{"run", "what is it", "--base-url=" + url, "--yes"},
			env: []string{key}, code: 0, stdout: "The answer.\n"},
		{name: "a prompt that begins with a dash", args: []string{"run", "--yes", "--base-url", url, "--",
			"--verbose does nothing"}, env: []string{key}, stdout: "The answer.\n"},
		{name: "a prompt on stdin", args: []string{"run", "--read-only", "--base-url", url, "-"}, env: []string{key},
			stdin: "what is it", stdout: "The answer.\n"},
		{name: "a prompt with more on stdin", args: []string{"run", "--read-only", "--json", "--base-url", url, "what",
			"is this?", "-"}, env: []string{key}, stdin: "a b\n",
			stdout: `"text":"what is this?\n\na b\n"`},
		{name: "a prompt with nothing on stdin", args: []string{"run", "--read-only", "--json", "--base-url", url,
			"what is it", "-"}, env: []string{key}, stdout: `"text":"what is it"`},
		{name: "a prompt and what is on stdin", args: []string{"run", "--read-only", "--json", "--base-url", url,
			"what is it"}, env: []string{key}, stdin: "a b\n", stdout: `"text":"what is it\n\na b\n"`,
			stderr: []string{"attractor: the prompt has 4 bytes of standard input"}},
		{name: "only what is on stdin", args: []string{"run", "--read-only", "--json", "--base-url", url},
			env: []string{key}, stdin: "what is it", stdout: `"text":"what is it"`},
		{name: "a flag with a slip", args: []string{"run", "--budgetusd", "3", "x"}, env: []string{key}, code: 2,
			stderr: []string{"unknown flag: --budgetusd; do you mean --budget-usd?"}},
		{name: "a refused key", args: []string{"run", "--yes", "--base-url", refusing, "x"}, env: []string{key},
			code: 4, stderr: []string{"401", "API key"}},
		{name: "a limit", args: []string{"run", "--yes", "--max-rounds", "1", "--base-url", loop, "x"},
			env: []string{key}, code: 3, stderr: []string{"max_tool_rounds (--max-rounds)"}},
		{name: "a timeout that is over at once", args: []string{"run", "--yes", "--timeout", "1ns", "--base-url",
			silent, "x"}, env: []string{key}, code: 3, stderr: []string{"--timeout"}},
		{name: "a negative limit", args: []string{"run", "--yes", "--max-turns", "-1", "x"}, env: []string{key},
			code: 2, stderr: []string{"--max-turns must be a whole number from 0 on"}},
		{name: "an unknown limit", args: []string{"run", "--yes", "--limit", "threads=3", "x"}, env: []string{key},
			code: 2, stderr: []string{"processes, memory, file-size and open-files"}},
		{name: "limits of commands", args: []string{"run", "--yes", "--json", "--limit", "processes=64,open-files=50",
			"--base-url", url, "x"}, env: []string{key}, stdout: ", 50 open files\","},
		{name: "limits of a tool's command", args: []string{"tool", "--limit", "open-files=50", "shell",
			`{"command":"ulimit -n"}`}, stdout: "50\n"},
		{name: "a timeout", args: []string{"run", "--yes", "--timeout", "200ms", "--base-url", silent, "x"},
			env: []string{key}, code: 3, stderr: []string{"--timeout", "attractor run --resume "}},
		{name: "a torn answer", args: []string{"run", "--yes", "--base-url", torn, "x"}, env: []string{key}, code: 0,
			stdout: "The answer, whole this time.\n", stderr: []string{"broke off", "attempt 2"}},
		{name: "a server that always breaks off", args: []string{"run", "--yes", "--base-url", alwaysTorn, "x"},
			env: []string{key}, code: 5, stderr: []string{"attempt 6", "stream"}},
		{name: "an unreachable server", args: []string{"run", "--yes", "--base-url", unusedURL, "x"},
			env: []string{key}, code: 5,
			stderr: []string{"cannot reach", "connection refused", "HTTPS_PROXY", "--base-url"}},
		{name: "a local server that does not run", args: []string{"run", "--yes", "--provider", "ollama", "--model",
			"m", "--base-url", unusedURL + "/v1", "x"}, code: 5,
			stderr: []string{"Start the server (ollama serve)", "OLLAMA_HOST or --base-url"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := attractorCommand(t, tt.args...)
			cmd.Env = append(cmd.Env, tt.env...)
			cmd.Stdin = strings.NewReader(tt.stdin)
			got := runCommand(t, cmd)
			if got.code != tt.code {
				t.Errorf("exit code %d, want %d", got.code, tt.code)
			}
			if tt.code != 0 && got.stdout != "" || !strings.Contains(got.stdout, tt.stdout) {
				t.Errorf("stdout %q, want %q", got.stdout, tt.stdout)
			}
			for _, want := range tt.stderr {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("stderr does not say %q:\n%s", want, got.stderr)
				}
			}
			if strings.Contains(got.stdout+got.stderr, "sk-secret-key") {
				t.Errorf("the key is in the output:\n%s", got.stderr)
			}
		})
	}
}
