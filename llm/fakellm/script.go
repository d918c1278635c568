package fakellm

import (
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/attractor-go/attractor/llm"
)

// Model returns the response to a request. It is called once for each request that is well-formed
// and has no fault before its response, by several goroutines at the same time.
type Model func(r *Request) Turn

// Request holds a request as the server decoded it.
type Request struct {
	// N counts the server's requests from 1, in the order of arrival.
	N      int
	Path   string
	Query  url.Values
	Header http.Header
	// Body is the request's body, unchanged.
	Body []byte

	// The following fields are empty if the body could not be decoded.

	Model  string
	System string
	// Messages is the conversation without the system prompt. A wire message with results and text
	// becomes two messages here.
	Messages []llm.Message
	// Tools holds the names of the tools that the model is offered. A web search that the
	// vendor runs is web_search.
	Tools     []string
	Effort    string
	MaxTokens int
	Stream    bool
	// CacheMarks counts the cache breakpoints.
	CacheMarks int

	pending  []string // the ids of the searches without a result
	unread   int      // bytes of the body that are no part of the prompt
	prefixes []prefix // those that can be cached
}

// Turn returns the number of the model's responses in the conversation, which is the index of the
// response to return.
func (r *Request) Turn() int {
	n := 0
	for i, m := range r.Messages {
		if m.Role == llm.RoleAssistant && (i == 0 || r.Messages[i-1].Role != llm.RoleAssistant) {
			n++
		}
	}
	return n
}

// split returns the results of a message as a message of their own, and then the rest of it.
func split(m llm.Message) (list []llm.Message) {
	results := llm.Message{Role: llm.RoleTool}
	rest := m
	rest.Parts = nil
	for _, part := range m.Parts {
		if _, ok := part.(llm.ToolResult); ok {
			results.Parts = append(results.Parts, part)
		} else {
			rest.Parts = append(rest.Parts, part)
		}
	}
	for _, msg := range []llm.Message{results, rest} {
		if len(msg.Parts) > 0 {
			list = append(list, msg)
		}
	}
	return list
}

// Turn holds one response: thinking, then searches, then text, then calls. Empty ones are omitted.
// It can be decoded from JSON.
type Turn struct {
	Thinking string `json:"thinking,omitempty"`
	// Searches are web searches that the server runs before it writes the text. Cites are
	// the sources that the text cites. The response to a request that does not offer the search has
	// neither.
	Searches []llm.WebSearch `json:"searches,omitempty"`
	// Pending reports that the last search has no result yet. The next response begins with the
	// result. Only Anthropic has such responses.
	Pending bool         `json:"pending,omitempty"`
	Text    string       `json:"text,omitempty"`
	Cites   []llm.Source `json:"cites,omitempty"`
	Calls   []Call       `json:"calls,omitempty"`
	// Finish is the finish reason; empty means tool_calls with calls, and stop without.
	Finish llm.FinishReason `json:"finish,omitempty"`
	// Stop is the finish reason in the vendor's words, and takes the place of Finish. For OpenAI's
	// Responses API it is the reason why the response is incomplete.
	Stop string `json:"stop,omitempty"`
	// Usage is the reported usage; nil means an estimate from the sizes and the contents of the
	// prompt cache. Output above the request's limit of tokens is not reported.
	Usage *llm.Usage `json:"usage,omitempty"`
	// ID is the response's id; empty means msg_ (or the vendor's own prefix) and the request's
	// number.
	ID string `json:"id,omitempty"`
}

// Call holds a tool call of a [Turn].
type Call struct {
	// ID is the call's id; empty means call_ with the index of the turn and of the call.
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// Args holds the arguments' JSON; empty means none.
	Args json.RawMessage `json:"args,omitempty"`
	// Raw replaces Args by a text that need not be JSON.
	Raw string `json:"raw,omitempty"`
}

func (c Call) args() string {
	if c.Raw != "" {
		return c.Raw
	}
	return string(c.Args)
}

// Script returns a model that responds with the turn whose index is the number of the model's
// responses in the conversation. It keeps no state. So a retry gets the same turn again, a resumed
// session continues where it was, and any number of sessions may run at the same time. After the
// last turn its response says that the script has ended.
func Script(turns ...Turn) Model {
	return func(r *Request) Turn {
		if i := r.Turn(); i < len(turns) {
			return turns[i]
		}
		return Turn{Text: "The script is over."}
	}
}
