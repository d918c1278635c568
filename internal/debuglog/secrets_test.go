package debuglog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// line is a line of a log, decoded.
type line map[string]any

// text returns a member that is a string.
func (l line) text(name string) string { s, _ := l[name].(string); return s }

// readLines returns the lines of a log, each of which has to be a JSON object.
func readLines(t *testing.T, file string) (lines []line, raw string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for text := range bytes.Lines(data) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatalf("%v in %.300s", err, text)
		}
		lines = append(lines, l)
	}
	return lines, string(data)
}

// session runs sessions against a scripted model, and logs them.
type session struct {
	file    string
	log     *Log
	masker  *secret.Masker
	key     string
	model   fakellm.Model
	options agent.Options
	header  http.Header // of responses
}

// run runs one input of a session with a provider.
func (s *session) run(t *testing.T, provider, prompt string) {
	t.Helper()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	fake := fakellm.New(s.model, fakellm.Options{Words: 1})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, values := range s.header {
			w.Header()[name] = values
		}
		fake.ServeHTTP(w, r)
	}))
	defer server.Close()
	kind, err := providers.Find(provider)
	if err != nil {
		t.Fatal(err)
	}
	base := server.URL
	if strings.HasPrefix(provider, "openai") {
		base += "/v1"
	}
	p, err := kind.New(providers.Config{APIKey: s.key, BaseURL: base, HTTPClient: s.log.Client(s.masker)})
	if err != nil {
		t.Fatal(err)
	}
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close() // nothing runs in it
	o := s.options
	o.Client, o.Provider, o.Model, o.System, o.Env = &llm.Client{Providers: []llm.Provider{p}}, provider, "some-model",
		"x", local
	o.Logger = s.log.Logger(s.masker)
	Attach(&o)
	live, err := agent.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := live.Submit(t.Context(), prompt); err != nil {
		t.Error(err)
	}
	if err := live.Close(); err != nil {
		t.Error(err)
	}
}

// opened returns a session with a log in a file.
func opened(t *testing.T) *session {
	t.Helper()
	file := filepath.Join(t.TempDir(), "debug.jsonl")
	log, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	log.Tell(func(text string) { t.Error(text) })
	return &session{file: file, log: log, masker: secret.New(), key: "key"}
}

// corpus returns one secret of each kind of the collection, or two of our own without it.
func corpus(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("../../../shared/corpora/secrets_env/cases.jsonl")
	if errors.Is(err, fs.ErrNotExist) {
		t.Log("the shared corpora are not here:", err)
		return map[string]string{"canary_plain": "canary-host-secret-7f3a9c",
			"github_pat": "ghp_" + strings.Repeat("e", 36)}
	} else if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for text := range bytes.Lines(data) {
		var c struct {
			Kind, Value string
			SecretKind  string `json:"secret_kind"`
		}
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatal(err)
		}
		if c.Kind == "secret_sink" {
			values[c.SecretKind] = c.Value
		}
	}
	return values
}

// joined returns the strings of the events of a line, those of one place together.
func joined(l line) string {
	events, _ := l["events"].([]any)
	runs := map[string]string{}
	for _, e := range events {
		one, _ := e.(map[string]any)
		walk(one["data"], "", func(place, text string, _ func(string)) { runs[place] += text })
	}
	var b strings.Builder
	for _, text := range runs {
		b.WriteString(text + "\n")
	}
	return b.String()
}

// No secret of any kind reaches the file, from keys, headers, prompts, outputs, errors, files,
// commands or the model, whole or in pieces.
func TestN7_DebugHasNoSecrets(t *testing.T) {
	for kind, value := range corpus(t) {
		for _, provider := range []string{"anthropic", "openai", "gemini", "openai-compatible"} {
			t.Run(kind+"/"+provider, func(t *testing.T) {
				s := opened(t)
				if err := s.masker.Register("CANARY", value); err != nil {
					t.Fatal(err)
				}
				if s.key = value; strings.ContainsAny(value, " \n") { // no key
					s.key = "key"
				}
				s.header = http.Header{"X-Echo": {oneLine(value)}, "Set-Cookie": {"short=abc"}}
				s.options.Tools = []tool.Tool{leaking(value)}
				s.model = func(r *fakellm.Request) fakellm.Turn {
					if r.Turn() > 0 {
						return fakellm.Turn{Text: "the value is " + value}
					}
					args, err := json.Marshal(map[string]string{"text": "it is " + value})
					if err != nil {
						t.Error(err)
					}
					return fakellm.Turn{Text: value, Calls: []fakellm.Call{{Name: "leak", Args: args}}}
				}
				s.run(t, provider, "look at "+value)
				lines, raw := readLines(t, s.file)
				quoted, err := json.Marshal(value)
				if err != nil {
					t.Fatal(err)
				}
				for _, form := range []string{value, strings.Trim(string(quoted), `"`), "short=abc"} {
					if at := strings.Index(raw, form); at >= 0 {
						t.Errorf("the file has the value: %s", raw[max(0, at-200):at])
					}
				}
				for _, l := range lines {
					if text := joined(l); strings.Contains(text, value) {
						t.Errorf("the events have the value in pieces: %q", text)
					}
				}
				for _, want := range []string{"[secret CANARY]", hidden, `"msg":"http request"`, `"msg":"http body"`,
					`"msg":"start"`} {
					if !strings.Contains(raw, want) {
						t.Errorf("the file has no %s", want)
					}
				}
			})
		}
	}
}

// oneLine returns a value as a header can have it.
func oneLine(value string) string { return strings.ReplaceAll(value, "\n", "") }

// leaking returns a tool that runs a command with a value, and returns the value.
func leaking(value string) tool.Tool {
	return tool.New(llm.ToolDefinition{Name: "leak", Description: "Leaks.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)},
		func(ctx context.Context, call *tool.Call, _ struct{ Text string }) (tool.Result, error) {
			_, err := env.Run(ctx, call.Env, env.Command{Script: "true # " + oneLine(value)}, 0)
			return tool.Text("it is " + value), err
		})
}

// A secret whose letters come one by one is masked in the events of every format, also where calls
// come at the same time.
func TestN7_SecretsInPieces(t *testing.T) {
	const value = `canary-"host"-7f3a9c`
	const other = "an ordinary text here"
	m := secret.New()
	if err := m.Register("CANARY", value); err != nil {
		t.Fatal(err)
	}
	for name, format := range map[string]string{
		"anthropic": `event: content_block_delta` + "\n" +
			`data: {"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":%q}}`,
		"arguments":    `data: {"index":%d,"delta":{"type":"input_json_delta","partial_json":%q}}`,
		"openai":       `data: {"type":"response.output_text.delta","output_index":%d,"delta":%q,"sequence_number":7}`,
		"gemini":       `data: {"candidates":[{"index":%d,"content":{"parts":[{"text":%q}]}}]}`,
		"chat":         `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"function":{"arguments":%q}}]}}]}`,
		"windows ends": `data: {"index":%d,` + "\r\n" + `data: "text":%q}`,
	} {
		var stream strings.Builder
		for i := range len(value) {
			fmt.Fprintf(&stream, format+"\n\n", 1, value[i:i+1])
			fmt.Fprintf(&stream, format+"\n\n", 2, other[i:i+1])
		}
		x := &transport{masker: m}
		data, err := json.Marshal(x.streamed([]byte(stream.String()), nil, true))
		if err != nil {
			t.Fatal(err)
		}
		var events []any
		if err := json.Unmarshal(data, &events); err != nil {
			t.Fatal(err)
		}
		text := joined(line{"events": events})
		if len(events) != 2*len(value) || strings.Contains(text, value) || !strings.Contains(text, "[secret CANARY]") ||
			!strings.Contains(text, other[:len(value)]) {
			t.Errorf("%s: %d events, %q", name, len(events), text)
		}
	}
}

// Each line of a request has the session, and the agent, that has made it, with many agents at a
// time.
func TestN7_DebugOfManyAgents(t *testing.T) {
	const agents = 8
	s := opened(t)
	s.options.Subagents = &agent.Subagents{MaxRunning: agents}
	s.options.Tools = agentTools()
	s.model = func(r *fakellm.Request) fakellm.Turn {
		switch {
		case !strings.Contains(string(r.Body), "go-parent"):
			return fakellm.Turn{Text: "done"}
		case r.Turn() == 0:
			var calls []fakellm.Call
			for i := range agents {
				calls = append(calls, fakellm.Call{Name: "spawn",
					Args: json.RawMessage(fmt.Sprintf(`{"task":"part %d"}`, i))})
			}
			return fakellm.Turn{Calls: calls}
		case r.Turn() == 1:
			return fakellm.Turn{Calls: []fakellm.Call{{Name: "await", Args: json.RawMessage(`{}`)}}}
		}
		return fakellm.Turn{Text: "done"}
	}
	s.run(t, "anthropic", "go-parent")
	lines, _ := readLines(t, s.file)
	by := map[string]int{}
	ids := map[float64][]string{}
	for _, l := range lines {
		if l.text("session") == "" {
			t.Errorf("a line without a session: %v", l)
		}
		if id, ok := l["http"].(float64); ok {
			ids[id] = append(ids[id], l.text("session")+l.text("agent")+": "+l.text("msg"))
			if l.text("msg") == "http request" {
				by[l.text("agent")]++
			}
		}
	}
	if len(by) != agents+1 || by[""] != 3 {
		t.Errorf("requests by agent: %v", by)
	}
	for id, all := range ids {
		who, _, _ := strings.Cut(all[0], ":")
		if !slices.Equal(all, []string{who + ": http request", who + ": http response", who + ": http body"}) {
			t.Errorf("request %v: %v", id, all)
		}
	}
}

// agentTools returns tools that start agents and wait for them.
func agentTools() []tool.Tool {
	return []tool.Tool{
		tool.New(llm.ToolDefinition{Name: "spawn", Description: "Starts an agent.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"task":{"type":"string"}}}`)},
			func(ctx context.Context, call *tool.Call, args struct{ Task string }) (tool.Result, error) {
				status, err := call.Session.Agents().Spawn(ctx, tool.AgentTask{Task: args.Task})
				return tool.Text(status.ID), err
			}),
		tool.New(llm.ToolDefinition{Name: "await", Description: "Waits for all agents.",
			Parameters: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, call *tool.Call,
			_ struct{}) (tool.Result, error) {
			for i := range 8 {
				if _, err := call.Session.Agents().Wait(ctx, fmt.Sprint("agent-", i+1)); err != nil {
					return tool.Result{}, err
				}
			}
			return tool.Text("all"), nil
		}),
	}
}

// The logger masks, and a nil Log has no logger and no client.
func TestN7_NilLog(t *testing.T) {
	var l *Log
	if l.Logger(secret.New()) != nil || l.Client(secret.New()) != nil || l.Close() != nil {
		t.Error("a nil Log does something")
	}
	l.Tell(nil)
}
