package fakellm

import (
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/attractor-go/attractor/llm"
)

// Model decides what to answer. It is called once for each request that is well-formed and has no fault before its answer, by
// many goroutines at once.
type Model func(r *Request) Turn

// Request is one request as the server understood it.
type Request struct {
	// N counts the server's requests from 1, in the order of their arrival.
	N      int
	Path   string
	Query  url.Values
	Header http.Header
	// Body is the request's body as it came.
	Body []byte

	// What follows is empty when the body could not be read.

	Model  string
	System string
	// Messages is the conversation without the system prompt. Results and text of one wire message are two messages here.
	Messages []llm.Message
	// Tools are the names of the tools that the model is offered.
	Tools     []string
	Effort    string
	MaxTokens int
	Stream    bool
	// CacheMarks counts the cache breakpoints that were set.
	CacheMarks int
}

// Turn returns how many answers of the model the conversation holds already: the index of the answer that is asked for.
func (r *Request) Turn() int {
	n := 0
	for i, m := range r.Messages {
		if m.Role == llm.RoleAssistant && (i == 0 || r.Messages[i-1].Role != llm.RoleAssistant) {
			n++
		}
	}
	return n
}

// Turn is one answer: thinking, then text, then calls, each left out when it is empty. It can be read from JSON.
type Turn struct {
	Thinking string `json:"thinking,omitempty"`
	Text     string `json:"text,omitempty"`
	Calls    []Call `json:"calls,omitempty"`
	// Finish is why the model stops; empty means tool_calls with calls and stop without.
	Finish llm.FinishReason `json:"finish,omitempty"`
	// Stop says it in the vendor's words instead; to OpenAI's Responses API, why the answer is incomplete.
	Stop string `json:"stop,omitempty"`
	// Usage is what the answer reports; nil means an estimate from the sizes, with a prompt cache that really remembers.
	Usage *llm.Usage `json:"usage,omitempty"`
	// ID is the answer's id; empty means msg_ (or the vendor's own word) and the request's number.
	ID string `json:"id,omitempty"`
}

// Call is a tool call of a [Turn].
type Call struct {
	// ID is empty for call_ with the turn's and the call's index.
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// Args is the arguments' JSON; empty means none.
	Args json.RawMessage `json:"args,omitempty"`
	// Raw replaces Args with a text that need not be JSON.
	Raw string `json:"raw,omitempty"`
}

func (c Call) args() string {
	if c.Raw != "" {
		return c.Raw
	}
	return string(c.Args)
}

// Script answers with the turn whose index is the number of the model's answers in the conversation so far. It keeps no state,
// so retries get the same turn again, a resumed session goes on where it was, and any number of sessions may run at once. Past
// the last turn it says that the script is over.
func Script(turns ...Turn) Model {
	return func(r *Request) Turn {
		if i := r.Turn(); i < len(turns) {
			return turns[i]
		}
		return Turn{Text: "The script is over."}
	}
}
