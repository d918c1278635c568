package anthropic

import (
	"encoding/json"

	"github.com/attractor-go/attractor/llm"
)

// searchPairs holds which of the searches in some messages are sent back. The API refuses a call
// without its result, and a result without its call, except a call at the end of a conversation
// that it goes on with: after a pause, or when results of other calls and nothing else are sent.
type searchPairs struct {
	provider string
	answered map[string]bool // the ids of calls with results
	pending  map[string]bool // the ids of the calls that the API goes on with
}

// searchID returns the id of a search, if a part is its call or its result.
func searchID(part llm.Part, provider string) (id string, isResult bool) {
	o, ok := part.(llm.Opaque)
	if !ok || o.Provider != provider {
		return "", false
	}
	var w struct {
		Type, ID, Name string
		ToolUseID      string `json:"tool_use_id"`
	}
	switch {
	case json.Unmarshal([]byte(o.Data), &w) != nil:
	case w.Type == serverCall && w.Name == searchName:
		return w.ID, false
	case w.Type == searchResult:
		return w.ToolUseID, true
	}
	return "", false
}

// pair pairs the searches of messages with their results. pending holds the open searches of the
// messages before them. A result is in the response of its search, or in the next response if
// nothing but tool results is between. Unless the request offers the search, the API continues
// none.
func pair(messages []llm.Message, provider string, pending map[string]bool, offered bool) searchPairs {
	s := searchPairs{provider: provider, answered: map[string]bool{}, pending: map[string]bool{}}
	for id := range pending {
		s.pending[id] = true
	}
	for _, m := range messages {
		if m.Role != llm.RoleAssistant {
			if !onlyResults(m) {
				clear(s.pending)
			}
			continue
		}
		before := s.pending
		s.pending = map[string]bool{}
		for _, part := range m.Parts {
			switch id, isResult := searchID(part, provider); {
			case id == "":
			case !isResult:
				s.pending[id] = true
			case before[id] || s.pending[id]:
				delete(before, id)
				delete(s.pending, id)
				s.answered[id] = true
			}
		}
	}
	if !offered {
		clear(s.pending)
	}
	return s
}

func onlyResults(m llm.Message) bool {
	for _, part := range m.Parts {
		if _, ok := part.(llm.ToolResult); !ok {
			return false
		}
	}
	return true
}

// keep reports whether the calls that were sent as pending are paired, or pending still.
func (s *searchPairs) keep(pending map[string]bool) bool {
	for id := range pending {
		if !s.answered[id] && !s.pending[id] {
			return false
		}
	}
	return true
}

// sendable returns the parts of a response that are sent back, without thinking at its end, where
// the API refuses it.
func (s *searchPairs) sendable(m llm.Message) llm.Parts {
	var parts llm.Parts
	for _, part := range m.Parts {
		id, isResult := searchID(part, s.provider)
		if id == "" || s.answered[id] || s.pending[id] && !isResult {
			parts = append(parts, part)
		}
	}
	if len(parts) == len(m.Parts) {
		return parts
	}
	for len(parts) > 0 {
		if _, thinks := parts[len(parts)-1].(llm.Thinking); !thinks {
			break
		}
		parts = parts[:len(parts)-1]
	}
	return parts
}
