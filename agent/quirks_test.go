package agent_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// A choosyServer is a fakellm server that refuses requests with some parameters, in its own words.
type choosyServer struct {
	*fakellm.Server
	refuses map[string]string // the body of the error by the parameter
	refused []string
}

func (s *choosyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var params map[string]json.RawMessage
	if err != nil || json.Unmarshal(body, &params) != nil {
		panic(http.ErrAbortHandler)
	}
	for name, answer := range s.refuses {
		outer, inner, nested := strings.Cut(name, ".")
		value := params[outer]
		if nested {
			var members map[string]json.RawMessage
			_ = json.Unmarshal(value, &members) // a missing one has no members
			value = members[inner]
		}
		if value != nil {
			s.refused = append(s.refused, name)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, answer)
			return
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.Server.ServeHTTP(w, r)
}

// A parameter that the server refuses, in the words of real ones, is left out from then on, also by
// the summary and after a resume.
func TestX7_RefusedParametersAreLeftOut(t *testing.T) {
	for name, refuses := range map[string]map[string]string{
		"two of a strict server": {
			"stream_options": `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted","input":{"include_usage":true}}]},"type":"invalid_request_error","code":null}`,
			"reasoning_effort": `{"detail":[{"type":"extra_forbidden","loc":["body","reasoning_effort"],` +
				`"msg":"Extra inputs are not permitted"}]}`,
		},
		"an unknown argument": {
			"stream_options": `{"error":{"message":"Unrecognized request argument supplied: stream_options","type":"invalid_request_error","param":null,"code":null}}`,
		},
		"effort": {
			"reasoning_effort": `{"error":{"message":"` + "`reasoning_effort`" +
				` is not supported with this model","type":"invalid_request_error","param":"reasoning_effort"}}`,
		},
		"thinking of a local model": {
			"reasoning_effort": `{"error":{"message":"\"llama3.2\" does not support thinking","type":"api_error","param":null,"code":null}}`,
		},
		"another name": {
			"max_tokens": `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := &choosyServer{refuses: refuses, Server: fakellm.New(fakellm.Script(fakellm.Turn{Text: "first"},
				fakellm.Turn{Text: "the summary"}, fakellm.Turn{Text: "second"}), fakellm.Options{})}
			log := new(journal.Memory)
			o := setup{options: agent.Options{Journal: log, Effort: "low",
				Request: agent.RequestOptions{MaxTokens: 1000}}}
			o.wrap = func(llm.Provider) llm.Provider { return testNamed{newWire(t, "openai-compatible", server)} }
			o.tools = append(o.tools, echo("echo"))
			h := open(t, o)
			h.submit(t, "begin", agent.ReasonCompleted)
			if warned := h.warned(); strings.Count(warned, "rejection_mended") != len(refuses) {
				t.Errorf("warnings %q", warned)
			}
			if err := h.Compact(t.Context()); err != nil {
				t.Error(err)
			}
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			resumed := open(t, o)
			resumed.submit(t, "go on", agent.ReasonCompleted)
			slices.Sort(server.refused)
			if len(slices.Compact(slices.Clone(server.refused))) != len(refuses) ||
				len(server.refused) != len(refuses) {
				t.Errorf("refused %q", server.refused)
			}
			if err := agent.Replay(t.Context(), log, agent.ReplayOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// OpenAI refuses summaries of the reasoning to organizations that it has not verified, and of some
// models.
func TestX7_RefusedSummariesOfReasoning(t *testing.T) {
	for _, answer := range []string{
		`{"error":{"message":"Your organization must be verified to generate reasoning summaries. Please go to: ` +
			`https://platform.openai.com/settings/organization/general and click on Verify Organization.",` +
			`"type":"invalid_request_error","param":"reasoning.summary","code":"unsupported_value"}}`,
		`{"error":{"message":"Unsupported parameter: 'reasoning.summary' is not supported with this model.",` +
			`"type":"invalid_request_error","param":"reasoning.summary","code":"unsupported_parameter"}}`,
	} {
		server := &choosyServer{refuses: map[string]string{"reasoning.summary": answer},
			Server: fakellm.New(fakellm.Script(fakellm.Turn{Text: "first"}, fakellm.Turn{Text: "second"}),
				fakellm.Options{})}
		h := open(t, setup{options: agent.Options{Effort: "low"},
			wrap: func(llm.Provider) llm.Provider { return testNamed{newWire(t, "openai", server)} }})
		h.submit(t, "begin", agent.ReasonCompleted)
		h.submit(t, "go on", agent.ReasonCompleted)
		if len(server.refused) != 1 || h.warned() != "rejection_mended" {
			t.Errorf("refused %q, warnings %q", server.refused, h.warned())
		}
	}
}

// A parameter that the user has set is not left out.
func TestX7_TheUsersParametersStay(t *testing.T) {
	server := &choosyServer{Server: fakellm.New(fakellm.Script(), fakellm.Options{}), refuses: map[string]string{
		"reasoning_effort": `{"error":{"message":"'reasoning_effort' is not supported with this model"}}`}}
	p := newWire(t, "openai-compatible", server)
	_, err := llm.Collect(p.Stream(t.Context(),
		&llm.Request{Model: "m", Effort: "low", Messages: []llm.Message{llm.User("a")},
			Options: map[string]json.RawMessage{p.Name(): json.RawMessage(`{"reasoning_effort":"high"}`)}}))
	var e *llm.Error
	if !errors.As(err, &e) || len(server.refused) != 1 || e.Rejected != nil && e.Rejected.Quirk != "" {
		t.Errorf("%v, refused %q", err, server.refused)
	}
}
