package agent_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/tool"
)

const poison = "poison-of-the-test"

// picture is an image that the servers of these tests reject: what stands behind the end of a PNG
// file is ignored by all others.
func picture() llm.Media {
	padded := llmtest.PNG + strings.Repeat(" ", 3-len(llmtest.PNG)%3) // so that the poison can be seen in Base64, too
	return llm.Media{MIME: "image/png", Data: []byte(padded + poison)}
}

// A poisoner is a fakellm server that rejects every conversation with the poison in it, outside of
// texts.
type poisoner struct {
	*fakellm.Server
	provider string
	say      func(path string) string // the rejection
	status   int                      // of the rejection, 400 unless set
	code     string                   // instead of null, in OpenAI's formats
	rejected int
}

func (p *poisoner) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var value any
	if err != nil || json.Unmarshal(body, &value) != nil {
		panic(http.ErrAbortHandler)
	}
	path, found := pathOfPoison(value, p.provider != "anthropic")
	if !found {
		r.Body = io.NopCloser(bytes.NewReader(body))
		p.Server.ServeHTTP(w, r)
		return
	}
	p.rejected++
	text, _ := json.Marshal(p.say(strings.TrimPrefix(path, ".")))
	code, _ := json.Marshal(p.code)
	if p.code == "" {
		code = []byte("null")
	}
	answer := `{"error":{"message":` + string(text) + `,"type":"invalid_request_error","code":` + string(code) + `}}`
	switch p.provider {
	case "anthropic":
		answer = `{"type":"error","error":{"type":"invalid_request_error","message":` + string(text) + `}}`
	case "gemini":
		answer = `{"error":{"code":400,"message":` + string(text) + `,"status":"INVALID_ARGUMENT"}}`
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(cmp.Or(p.status, http.StatusBadRequest))
	_, _ = io.WriteString(w, answer)
}

// pathOfPoison returns the path to the poison in a request's body, as an API names it. In texts
// there is none.
func pathOfPoison(value any, brackets bool) (string, bool) {
	switch v := value.(type) {
	case string:
		return "", strings.Contains(v, poison) || strings.Contains(v, base64.StdEncoding.EncodeToString([]byte(poison)))
	case map[string]any:
		for name, member := range v {
			if _, is := member.(string); is && (name == "text" || name == "content" || name == "output") {
				continue
			}
			if rest, ok := pathOfPoison(member, brackets); ok {
				return "." + name + rest, true
			}
		}
	case []any:
		for i, entry := range v {
			rest, ok := pathOfPoison(entry, brackets)
			switch {
			case ok && brackets:
				return fmt.Sprintf("[%d]%s", i, rest), true
			case ok:
				return fmt.Sprintf(".%d%s", i, rest), true
			}
		}
	}
	return "", false
}

// poisonings lists the ways of the poison into a conversation: with an input, a tool, or an answer
// of the model.
var poisonings = map[string]struct {
	call  *fakellm.Call // of the model's first answer
	with  []llm.Part    // of the first input
	tools []tool.Tool
}{
	"a picture in an input": {with: []llm.Part{picture()}},
	"a picture in a result": {call: &fakellm.Call{Name: "look", Args: json.RawMessage(`{}`)}, tools: []tool.Tool{
		newTool("look", readOnly, func(context.Context, *tool.Call) (tool.Result, error) {
			return tool.Result{Content: llm.Parts{llm.Text{Text: "see"}, picture()}}, nil
		})}},
	"the name of a call":      {call: &fakellm.Call{Name: "a." + poison, Args: json.RawMessage(`{}`)}},
	"the arguments of a call": {call: &fakellm.Call{Name: "echo", Raw: `["` + poison + `"]`}},
	"a definition of a server's": {
		tools: []tool.Tool{
			newTool(
				"mcp__a__"+poison,
				readOnly,
				func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text(""), nil },
			),
		},
	},
}

// No session ends for what stands in its history: each poison through each format, whether the
// rejection names its place or says nothing. The next inputs go on without another rejection, also
// in another process.
func TestU1_EveryPoisonInEveryFormat(t *testing.T) {
	for _, provider := range []string{"anthropic", "openai", "openai-compatible", "gemini"} {
		for name, p := range poisonings {
			if provider == "gemini" && p.call != nil && p.call.Raw != "" {
				continue // its calls have objects only
			}
			for kind, say := range map[string]func(string) string{
				"named":   func(path string) string { return fmt.Sprintf("Invalid value at '%s'", path) },
				"unnamed": func(string) string { return "Request contains an invalid argument." },
			} {
				t.Run(provider+"/"+name+"/"+kind, func(t *testing.T) {
					turns := []fakellm.Turn{{Text: "first"}, {Text: "second"}, {Text: "third"}, {Text: "fourth"}}
					if p.call != nil {
						turns = append([]fakellm.Turn{{Text: "I call", Calls: []fakellm.Call{*p.call}}}, turns...)
					}
					server := &poisoner{
						Server:   fakellm.New(fakellm.Script(turns...), fakellm.Options{}),
						provider: provider,
						say:      say,
					}
					log := new(journal.Memory)
					o := setup{
						tools:   append([]tool.Tool{echo("echo")}, p.tools...),
						options: agent.Options{Journal: log},
					}
					o.wrap = func(llm.Provider) llm.Provider { return testNamed{newWire(t, provider, server)} }
					h := open(t, o)
					h.submit(t, "begin", agent.ReasonCompleted, agent.Attach(p.with...))
					if server.rejected != 1 || h.warned() != "rejection_mended" {
						t.Errorf("%d rejections, warnings %q", server.rejected, h.warned())
					}
					h.submit(t, "go on", agent.ReasonCompleted)
					if err := h.Close(); err != nil {
						t.Fatal(err)
					}
					resumed := open(t, o)
					resumed.submit(t, "and on", agent.ReasonCompleted)
					if server.rejected != 1 || resumed.warned() != "" {
						t.Errorf("after a resume: %d rejections, warnings %q", server.rejected, resumed.warned())
					}
					if err := agent.Replay(t.Context(), log, agent.ReplayOptions{}); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// A picture is left out as well if its server calls it a failure of its own, a missing model, or a
// content that its policy does not allow.
func TestU1_PicturesThatLookLikeOtherErrors(t *testing.T) {
	for name, p := range map[string]*poisoner{
		"llama.cpp": {provider: "openai-compatible", status: 500, code: "server_error", say: func(string) string {
			return "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"
		}},
		"Ollama": {provider: "openai-compatible", status: 500, code: "api_error", say: func(string) string {
			return "Failed to create new sequence: failed to process inputs: this model is missing data required for " +
				"image input"
		}},
		"OpenRouter": {provider: "openai-compatible", status: 404, say: func(string) string {
			return "No endpoints found that support image input"
		}},
		"OpenAI": {provider: "openai", code: "content_policy_violation", say: func(string) string {
			return "Your input image may contain content that is not allowed by our safety system."
		}},
	} {
		t.Run(name, func(t *testing.T) {
			look := poisonings["a picture in a result"]
			p.Server = fakellm.New(fakellm.Script(
				fakellm.Turn{Text: "I look", Calls: []fakellm.Call{*look.call}},
				fakellm.Turn{Text: "first"}, fakellm.Turn{Text: "second"}), fakellm.Options{})
			h := open(t, setup{tools: look.tools, wrap: func(llm.Provider) llm.Provider {
				return testNamed{newWire(t, p.provider, p)}
			}})
			h.submit(t, "begin", agent.ReasonCompleted)
			h.submit(t, "go on", agent.ReasonCompleted)
			if p.rejected != 1 || h.warned() != "rejection_mended" {
				t.Errorf("%d rejections, warnings %q", p.rejected, h.warned())
			}
		})
	}
}

// A refusal of a content that has no picture, if it speaks of one, leaves out nothing else.
func TestU1_RefusedContentIsNoTool(t *testing.T) {
	refused := llm.Errorf(llm.ErrContentFilter, "this text describes an image that is not allowed")
	refused.Rejected = &llm.Rejection{Message: -1, Part: -1, Media: true}
	h := open(t, setup{tools: []tool.Tool{echo("mcp__a__b")}, steps: []llmtest.Step{llmtest.Error(refused)}})
	h.submit(t, "say", agent.ReasonRefused)
	if h.warned() != "refused" {
		t.Errorf("warnings %q", h.warned())
	}
}

// testNamed is a provider by the name that the sessions of these tests ask.
type testNamed struct{ llm.Provider }

func (testNamed) Name() string { return "test" }

// newWire returns a provider of a vendor's format that sends its requests to a handler.
func newWire(t *testing.T, vendor string, handler http.Handler) llm.Provider {
	t.Helper()
	kind, err := providers.Find(vendor)
	if err != nil {
		t.Fatal(err)
	}
	base := "http://x.test"
	if strings.HasPrefix(vendor, "openai") {
		base += "/v1"
	}
	p, err := kind.New(providers.Config{APIKey: "k", BaseURL: base, HTTPClient: llmtest.PipeClient(t, handler)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// rejection returns a step in which the provider rejects the conversation.
func rejection(text string, r llm.Rejection) llmtest.Step {
	e := llm.Errorf(llm.ErrInvalidRequest, "%s", text)
	e.Rejected = &r
	return llmtest.Error(e)
}

var unnamed = llm.Rejection{Message: -1, Part: -1}

// The same rejection twice ends the input after two requests, with the server's own words, and so
// does one that names nothing that may be left out. The next input goes on.
func TestU1_RejectedForGood(t *testing.T) {
	h := open(t, setup{options: agent.Options{Policy: agent.Policy{OnFailure: agent.StayOnFailure}},
		steps: []llmtest.Step{
			rejection("no", unnamed),
			rejection("no", unnamed),
			llmtest.Text("yes"),
			rejection("not this text", llm.Rejection{Message: 1, Part: 0}),
		}})
	fails := func(input, text string, left int, with ...llm.Part) {
		t.Helper()
		_, err := h.Submit(t.Context(), input, agent.Attach(with...))
		var e *llm.Error
		if !errors.As(err, &e) || e.Message != text || h.model.Left() != left {
			t.Errorf("%s: %v with %d steps left, want %q and %d", input, err, h.model.Left(), text, left)
		}
	}
	fails("see", "no", 2, picture())
	h.submit(t, "again", agent.ReasonCompleted)
	fails("more", "not this text", 0)
	if h.warned() != "rejection_mended" {
		t.Errorf("warnings %q", h.warned())
	}
}

// At most three rejections of an input are mended.
func TestU1_AtMostThree(t *testing.T) {
	h := open(
		t,
		setup{options: agent.Options{Policy: agent.Policy{OnFailure: agent.StayOnFailure}}, steps: []llmtest.Step{
			rejection(
				"1",
				llm.Rejection{Message: 1, Part: 1},
			), rejection("2", llm.Rejection{Message: 1, Part: 2}), rejection("3", llm.Rejection{Message: 1, Part: 3}),
			rejection("4", llm.Rejection{Message: 1, Part: 4}), llmtest.Text("yes")}},
	)
	_, err := h.Submit(t.Context(), "see", agent.Attach(picture(), picture(), picture(), picture()))
	if err == nil || !strings.Contains(err.Error(), "4") || h.model.Left() != 1 {
		t.Errorf("%v, with %d steps left", err, h.model.Left())
	}
	h.submit(t, "again", agent.ReasonCompleted)
}

// What one model rejects, another one gets. Suspects are what came since the last accepted request,
// and a picture that had been accepted begins an epoch when it is left out.
func TestU1_OnlyForTheModelAndSinceTheLastAnswer(t *testing.T) {
	h := open(
		t,
		setup{
			steps: []llmtest.Step{
				llmtest.Text("a picture"),
				rejection("a picture is wrong", llm.Rejection{Message: -1, Part: -1, Media: true}),
				llmtest.Text(
					"two pictures",
				),
				rejection("too many pictures", llm.Rejection{Message: -1, Part: -1, Media: true}),
				llmtest.Text("none"),
				llmtest.Text("all of them"),
			},
		},
	)
	media := func(want int) {
		t.Helper()
		n := 0
		requests := h.model.Requests()
		for _, m := range requests[len(requests)-1].Messages {
			for _, p := range m.Parts {
				if _, ok := p.(llm.Media); ok {
					n++
				}
			}
		}
		if n != want {
			t.Errorf("the request has %d pictures, want %d", n, want)
		}
	}
	h.submit(t, "first", agent.ReasonCompleted, agent.Attach(picture()))
	media(1)
	h.submit(t, "second", agent.ReasonCompleted, agent.Attach(picture()))
	media(1)
	h.submit(t, "third", agent.ReasonCompleted)
	media(0)
	epochs := map[int]bool{}
	for _, ev := range only[*agent.StepStart](h) {
		epochs[ev.Epoch] = true
	}
	if len(epochs) != 2 {
		t.Errorf("epochs %v, want one more when the accepted picture was left out", epochs)
	}
	other := "model-2"
	if err := h.Set(t.Context(), agent.Settings{Model: &other}); err != nil {
		t.Fatal(err)
	}
	h.submit(t, "fourth", agent.ReasonCompleted)
	media(2)
}

// A compaction keeps the pictures of people, and what was left out of them.
func TestU1_AfterACompaction(t *testing.T) {
	h := open(t, setup{options: agent.Options{Policy: agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: 1}}},
		steps: []llmtest.Step{
			rejection("no", unnamed),
			llmtest.Text("I see nothing"),
			llmtest.Text("THE SUMMARY"),
			llmtest.Text("on"),
		}})
	h.submit(t, "see", agent.ReasonCompleted, agent.Attach(picture()))
	if err := h.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.submit(t, "go on", agent.ReasonCompleted)
	requests := h.model.Requests()
	text, _ := json.Marshal(requests[len(requests)-1].Messages)
	if bytes.Contains(text, []byte(`"media"`)) || !bytes.Contains(text, []byte("An image (image/png, 1 KB) was here")) {
		t.Errorf("%s", text)
	}
}

// A response that cannot be decoded twice in the same way is not asked for a third time.
func TestU1_UndecodableTwice(t *testing.T) {
	undecodable := llm.Errorf(llm.ErrStream, "cannot decode the response: a call has no name")
	undecodable.Undecoded = true
	h := open(t, setup{options: agent.Options{Policy: agent.Policy{OnFailure: agent.StayOnFailure}},
		steps: []llmtest.Step{llmtest.Error(undecodable), llmtest.Error(undecodable), llmtest.Text("yes")}})
	if _, err := h.Submit(t.Context(), "go"); err == nil || h.model.Left() != 1 {
		t.Errorf("%v, with %d steps left", err, h.model.Left())
	}
	h.submit(t, "again", agent.ReasonCompleted)
}

// Reasoning that its provider can no longer decrypt is left out; later reasoning is sent back.
func TestU1_ReasoningThatCannotBeDecrypted(t *testing.T) {
	server := fakellm.New(fakellm.Script(
		fakellm.Turn{Thinking: "hm", Calls: []fakellm.Call{{Name: "echo", Args: json.RawMessage(`{}`)}}},
		fakellm.Turn{Thinking: "so", Text: "first"}, fakellm.Turn{Text: "second"}), fakellm.Options{})
	answers, reasoning := 0, ""
	damaging := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		reasoning = strings.Join(regexp.MustCompile(`"encrypted_content":"g.`).FindAllString(string(body), -1), " ")
		r.Body = io.NopCloser(bytes.NewReader(body))
		recorded := httptest.NewRecorder()
		server.ServeHTTP(recorded, r)
		answer := recorded.Body.String()
		if answers++; answers == 1 {
			answer = strings.ReplaceAll(answer, `"encrypted_content":"gA`, `"encrypted_content":"gB`)
		}
		answer = regexp.MustCompile(`for item \S+ could not be verified[^"]*`).ReplaceAllString(answer,
			"gAAA...c90= could not be verified.") // it does not always name the item
		maps.Copy(w.Header(), recorded.Header())
		w.WriteHeader(recorded.Code)
		_, _ = io.WriteString(w, answer)
	})
	h := open(t, setup{tools: []tool.Tool{echo("echo")},
		wrap: func(llm.Provider) llm.Provider { return testNamed{newWire(t, "openai", damaging)} }})
	h.submit(t, "begin", agent.ReasonCompleted)
	if answers != 3 || reasoning != "" || h.warned() != "rejection_mended" {
		t.Errorf("%d answers, with %q in the last request; warnings %q", answers, reasoning, h.warned())
	}
	h.submit(t, "go on", agent.ReasonCompleted)
	if answers != 4 || reasoning != `"encrypted_content":"gA` {
		t.Errorf("%d answers, with %q in the last request", answers, reasoning)
	}
}

// The same holds where a gateway has the reasoning of OpenAI's models in its own form.
func TestU1_ReasoningOfAGatewayThatCannotBeDecrypted(t *testing.T) {
	asked, last := 0, ""
	gateway := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		asked++
		last = string(body)
		delta := `{"content":"done"}`
		switch {
		case asked == 1:
			delta = `{"reasoning":"hm","reasoning_details":[{"type":"reasoning.encrypted","data":"gAAA","id":"rs_1"}],` +
				`"tool_calls":[{"index":0,"id":"call_1","function":{"name":"echo","arguments":"{}"}}]}`
		case strings.Contains(last, "gAAA"):
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"Provider returned error","code":400,"metadata":{"provider_name":"OpenAI",`+
				`"raw":"{\"error\":{\"message\":\"The encrypted content gAAA could not be verified.\",`+
				`\"type\":\"invalid_request_error\",\"code\":\"invalid_encrypted_content\"}}"}}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"id":"a","choices":[{"index":0,"delta":`+delta+`,"finish_reason":"stop"}]}`+
			"\n\ndata: [DONE]\n\n")
	})
	h := open(t, setup{tools: []tool.Tool{echo("echo")},
		wrap: func(llm.Provider) llm.Provider { return testNamed{newWire(t, "openrouter", gateway)} }})
	h.submit(t, "begin", agent.ReasonCompleted)
	if asked != 3 || !strings.Contains(last, `"call_1"`) || h.warned() != "rejection_mended" {
		t.Errorf("%d requests, the last one %s; warnings %q", asked, last, h.warned())
	}
}
