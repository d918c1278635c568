package llm

import (
	"cmp"
	"slices"
	"strings"
)

// Repair returns a history that a provider accepts, for programs that edit or cut a history, or
// continue another provider's. It leaves messages alone and returns a new list. Messages that need
// no change keep the same parts in memory, so that a [Memo] recognizes them. Repairing a repaired
// history changes nothing.
//
//   - Every call gets exactly one result, before anything else that came before the model's next
//     turn. A call without a result gets an error result that says so, in a message of its own.
//   - A result without a call becomes text in a user message, so that nothing a tool returned is
//     lost. The same happens to other content of a tool's message.
//   - Content that another provider signed is removed, because only that provider can use it:
//     thinking and signatures in messages of another author, and opaque parts of another provider.
//   - Messages without content are removed: those without parts, and those with only blank text.
//
// Calls and results are paired by id within a turn of the model, which is its consecutive messages.
// Ids may therefore recur later.
//
// How a message is repaired depends on the messages up to it and on the provider, never on later
// ones. Only error results for missing results are added later: when the model's next turn begins,
// or at the end of the history. So where a turn of the model begins at messages[i],
// Repair(messages[:i]) is a prefix of Repair(messages).
func Repair(messages []Message, provider string) []Message {
	r := repairer{provider: provider, out: make([]Message, 0, len(messages))}
	var before Role
	for _, m := range messages {
		if m.Role != RoleAssistant {
			r.other(m)
		} else {
			if before != RoleAssistant {
				r.settle()
			}
			r.assistant(m)
		}
		before = m.Role
	}
	r.settle()
	return r.out
}

// noResult is the text that the model reads in place of a missing result.
const noResult = "Error: there is no result of this call. It may have been interrupted, so what it has done is unknown."

// repairer holds the state of one pass through a history.
type repairer struct {
	provider string
	out      []Message
	open     []ToolCall // calls of the model's last turn without a result
	held     []Message  // messages that wait for the open calls' results
}

// settle ends the model's last turn: open calls get error results, then the held messages follow.
func (r *repairer) settle() {
	if len(r.open) > 0 {
		missing := Message{Role: RoleTool}
		for _, c := range r.open {
			missing.Parts = append(missing.Parts,
				ToolResult{CallID: c.ID, Name: c.Name, Free: c.Free, IsError: true, Content: TextParts(noResult)})
		}
		r.out = append(r.out, missing)
	}
	r.open = nil
	r.release()
}

func (r *repairer) release() {
	r.out = append(r.out, r.held...)
	r.held = nil
}

func (r *repairer) assistant(m Message) {
	m.Parts = r.own(m)
	if !empty(m) {
		r.out = append(r.out, m)
		r.open = append(r.open, m.Parts.ToolCalls()...)
	}
}

// own returns a message's parts without what another provider signed. It returns the same slice if
// there is nothing to remove.
func (r *repairer) own(m Message) Parts {
	foreign := m.Provider != r.provider
	kept := make(Parts, 0, len(m.Parts))
	changed := false
	for _, p := range m.Parts {
		left := false
		switch signed := p.(type) {
		case Thinking:
			left = foreign
		case Opaque:
			left = signed.Provider != r.provider
		case Text:
			if foreign && signed.Signature != "" {
				signed.Signature = ""
				p, changed = signed, true
			}
		case ToolCall:
			if foreign && signed.Signature != "" {
				signed.Signature = ""
				p, changed = signed, true
			}
		}
		changed = changed || left
		if !left {
			kept = append(kept, p)
		}
	}
	if !changed {
		return m.Parts
	}
	return kept
}

// other adds a message that is not the model's.
func (r *repairer) other(m Message) {
	m.Parts = r.own(m)
	var results, rest, lost Parts
	for _, p := range m.Parts {
		result, ok := p.(ToolResult)
		switch {
		case !ok:
			rest = append(rest, p)
		case r.fill(result.CallID):
			results = append(results, p)
		default:
			lost = append(lost, asText(result)...)
		}
	}
	waiting := len(r.open) > 0 || len(r.held) > 0
	intact := len(lost) == 0 && (len(rest) == 0 || m.Role != RoleTool) // messages of role tool may only have results
	switch {
	case intact && (len(rest) == 0 || !waiting):
		r.add(m, len(results) > 0)
	case intact && len(results) == 0:
		r.add(m, false)
	default: // split into two or three messages
		r.add(Message{Role: RoleTool, Parts: results}, true)
		role := m.Role
		if role == RoleTool {
			role = RoleUser
		}
		r.add(Message{Role: role, Parts: rest}, false)
		r.add(Message{Role: RoleUser, Parts: lost}, false)
	}
	if len(r.open) == 0 {
		r.release()
	}
}

// add appends results at once, and other messages after the results of the open calls.
func (r *repairer) add(m Message, results bool) {
	switch {
	case empty(m):
	case results || len(r.open) == 0 && len(r.held) == 0:
		r.out = append(r.out, m)
	default:
		r.held = append(r.held, m)
	}
}

// fill removes an open call. It reports whether there was one with this id.
func (r *repairer) fill(id string) bool {
	for i, c := range r.open {
		if c.ID == id {
			r.open = slices.Delete(r.open, i, i+1)
			return true
		}
	}
	return false
}

// asText returns a result without a call as text.
func asText(result ToolResult) Parts {
	outcome := "Result"
	if result.IsError {
		outcome = "Error result"
	}
	parts := TextParts(outcome + " of an earlier call of " + cmp.Or(result.Name, "a tool") + ":\n")
	for _, part := range result.Content {
		if _, reference := part.(ToolReference); !reference { // only a result can hold it
			parts = append(parts, part)
		}
	}
	return parts
}

// empty reports whether a message has no content that an API would accept.
func empty(m Message) bool {
	for _, p := range m.Parts {
		if t, ok := p.(Text); !ok || t.Signature != "" || strings.TrimSpace(t.Text) != "" {
			return false
		}
	}
	return true
}
