package openaichat

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/providertest"
)

const corpora = "../../../shared/corpora/"

// answering returns a provider whose server always sends the same response.
func answering(t *testing.T, answer http.Handler) *Provider {
	return provider(t, Options{HTTPClient: llmtest.PipeClient(t, answer)})
}

func ask() *llm.Request { return &llm.Request{Model: "m", Messages: []llm.Message{llm.User("x")}} }

// TestG5_ErrorCorpus runs the corpus's responses and broken streams of all providers with errors of
// the common form: compatible servers and OpenAI.
func TestG5_ErrorCorpus(t *testing.T) {
	const begin = `data: {"id":"c","choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n"
	// The class says no; the header and retryable say yes. So it is a server error.
	decided := map[string]error{"x_should_retry_true": llm.ErrServer}
	ran := map[string]int{}
	for _, c := range providertest.ErrorCases(t, corpora+"provider_errors") {
		switch {
		case c.Provider == "anthropic", c.Provider == "gemini", c.Phase == "transport":
			continue
		case c.ID == "oa_resp_incomplete", c.ID == "oa_resp_failed": // events of the Responses API
			continue
		}
		ran[c.Provider]++
		t.Run(c.ID, func(t *testing.T) { c.Check(t, answering(t, c.Answer(begin, "")), decided[c.ID]) })
	}
	t.Logf("cases that ran: %v", ran)
	if ran["openai"] < 21 {
		t.Errorf("too few cases: %v", ran)
	}
}

// phrases lists texts of servers for a conversation that is too long, in addition to the corpus.
var phrases = []string{
	`{"error":{"message":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}}`,
	`{"error":{"message":"Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192","code":"wrong_api_format"}}`,
	`{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_ctx":4096}}`,
	`{"error":"prompt too long; exceeded max context length by 5 tokens"}`,
	`{"error":"Trying to keep the first 4000 tokens when context the overflows. However, the model is loaded with less"}`,
	"{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` " +
		"tokens\",\"error_type\":\"validation\"}",
	`{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"BadRequestError","param":null,"code":400}`,
	`{"error":{"message":"litellm.ContextWindowExceededError: too much","type":null,"code":"400"}}`,
	`{"message":"too many tokens: total number of tokens in the prompt cannot exceed 128000"}`,
	`[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`,
	`{"detail":"Requested token count exceeds the model's maximum context length of 8192 tokens."}`,
	`{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"prompt is too long: 210000 tokens > 200000 maximum\"}}","provider_name":"Anthropic"}}}`,
}

func TestG5_ContextLength(t *testing.T) {
	for _, body := range phrases {
		for _, midway := range []bool{false, true} {
			rec := providertest.Recording{Status: 400, ContentType: "application/json", Body: []byte(body)}
			if midway {
				rec = providertest.Recording{Status: 200, ContentType: "text/event-stream",
					Body: []byte("data: " + body + "\n\n")}
			}
			p := answering(t, rec)
			// An array is a form of error bodies, not of events.
			if _, err := llm.Collect(p.Stream(t.Context(), ask())); !errors.Is(err, llm.ErrContextLength) &&
				!(midway && body[0] == '[') {
				t.Errorf("%s (midway: %v): %v", body, midway, err)
			}
		}
	}
	for _, body := range []string{`{"error":{"message":"Rate limit reached: context length, tokens per minute","code":"rate_limit_exceeded"}}`} {
		p := answering(t, providertest.Recording{Status: 429, ContentType: "application/json", Body: []byte(body)})
		if _, err := llm.Collect(p.Stream(t.Context(), ask())); !errors.Is(err, llm.ErrRateLimit) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestG1_StreamCorpus decodes recordings of compatible servers and others in the same place: the
// contract holds for all of them.
func TestG1_StreamCorpus(t *testing.T) {
	list := providertest.StreamCorpus(t, corpora+"provider_streams", "")
	chat, seen := map[string]bool{}, map[string]bool{}
	for _, rec := range list {
		chat[rec.Name] = chat[rec.Name] || strings.Contains(string(rec.Body), "chat.completion")
	}
	ran, answers, others := map[string]int{}, 0, 0
	for _, rec := range list {
		if rec.Provider != "openai-compatible" && !chat[rec.Name] {
			continue
		}
		if !seen[rec.Name] {
			seen[rec.Name] = true
			ran[rec.Provider+" "+rec.Kind]++
		}
		t.Run(fmt.Sprintf("%s/%d", rec.Name, rec.N), func(t *testing.T) {
			switch {
			case decodes(t, rec):
				answers++
			case chat[rec.Name]:
				t.Errorf("no answer: %.200q", rec.Body)
			default: // from Bedrock, Cohere, the Responses API and others
				others++
			}
		})
	}
	t.Logf("files: %v; recordings: %d answers, %d others", ran, answers, others)
	if ran["openai-compatible http_cassette"]+ran["openai-compatible sse_data_lines"]+ran["openai-compatible "+
		"json_body"] != 110 || answers < 198 {
		t.Errorf("files %v, answers %d: less than there are", slices.Sorted(maps.Keys(ran)), answers)
	}
}

// decodes reports whether a recording decodes as a response. A complete one of this format must.
func decodes(t *testing.T, rec providertest.Recording) bool {
	body := string(rec.Body)
	events, err := providertest.Contract(t, answering(t, rec).Stream(t.Context(), ask()))
	complete := strings.Contains(body, "chat.completion") &&
		(strings.Contains(body, `"finish_reason":"`) || strings.Contains(body, `"finish_reason": "`))
	if complete && err != nil {
		t.Errorf("%v after %d events", err, len(events))
	}
	if err != nil {
		return false
	}
	answer := events[len(events)-1].Response
	if answer.Usage.Input == 0 && strings.Contains(body, `"prompt_tokens":`) ||
		answer.Finish.Reason == llm.FinishOther || len(answer.Message.Parts) == 0 {
		t.Errorf("the answer lacks something: %+v", answer)
	}
	for _, call := range answer.ToolCalls() {
		if !json.Valid([]byte(call.Args)) {
			t.Errorf("arguments %s", call.Args)
		}
	}
	return true
}
