package oracle

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"google.golang.org/genai"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/gemini"
)

func geminiProvider(t testing.TB, client *http.Client) llm.Provider {
	p, err := gemini.New(gemini.Options{APIKey: "k", HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func geminiClient(client *http.Client) (*genai.Client, error) {
	return genai.NewClient(context.Background(), &genai.ClientConfig{APIKey: "k", Backend: genai.BackendGeminiAPI,
		HTTPClient:  client,
		HTTPOptions: genai.HTTPOptions{BaseURL: "https://api.test"}})
}

// geminiSDK returns the outcome of Google's SDK, whose users must assemble the chunks themselves.
func geminiSDK(t testing.TB, client *http.Client, stream bool) (outcome, error) {
	sdk, err := geminiClient(client)
	if err != nil {
		t.Fatal(err)
	}
	var o outcome
	if !stream {
		r, err := sdk.Models.GenerateContent(t.Context(), "m", genai.Text("x"), nil)
		if err != nil {
			return outcome{Failed: true}, err
		}
		addChunk(&o, r)
	} else {
		for r, err := range sdk.Models.GenerateContentStream(t.Context(), "m", genai.Text("x"), nil) {
			if err != nil {
				return outcome{Failed: true}, err
			}
			addChunk(&o, r)
		}
	}
	if o.Raw == "" {
		return outcome{Failed: true}, errCut
	}
	o.Finish = geminiFinish(genai.FinishReason(o.Raw), len(o.Calls) > 0)
	return o, nil
}

// addChunk adds a chunk, whose counts are running totals.
func addChunk(o *outcome, r *genai.GenerateContentResponse) {
	if o.ID == "" {
		o.ID, o.Model = r.ResponseID, r.ModelVersion
	}
	if u := r.UsageMetadata; u != nil {
		o.Usage = llm.Usage{Input: int(u.PromptTokenCount + u.ToolUsePromptTokenCount),
			CacheRead: int(u.CachedContentTokenCount),
			Output:    int(u.CandidatesTokenCount + u.ThoughtsTokenCount), Reasoning: int(u.ThoughtsTokenCount)}
	}
	if len(r.Candidates) == 0 {
		return
	}
	c := r.Candidates[0]
	if c.FinishReason != "" {
		o.Raw = string(c.FinishReason)
	}
	if c.Content == nil {
		return
	}
	for _, p := range c.Content.Parts {
		switch {
		case p.FunctionCall != nil:
			args, err := json.Marshal(p.FunctionCall.Args)
			if err != nil || p.FunctionCall.Args == nil {
				args = []byte("{}")
			}
			o.Calls = append(o.Calls, call{p.FunctionCall.ID, p.FunctionCall.Name, string(args)})
		case p.Thought:
			o.Thinking += p.Text
		default:
			o.Text += p.Text
		}
	}
}

func geminiFinish(r genai.FinishReason, calls bool) llm.FinishReason {
	switch r {
	case genai.FinishReasonStop:
		if calls {
			return llm.FinishToolCalls
		}
		return llm.FinishStop
	case genai.FinishReasonMaxTokens:
		return llm.FinishLength
	case genai.FinishReasonSafety, genai.FinishReasonRecitation, genai.FinishReasonBlocklist,
		genai.FinishReasonProhibitedContent,
		genai.FinishReasonSPII, genai.FinishReasonImageSafety, genai.FinishReasonImageProhibitedContent,
		genai.FinishReasonImageRecitation,
		genai.FinishReasonLanguage:
		return llm.FinishContentFilter
	}
	return llm.FinishOther
}
