package llm

import (
	"slices"
	"strings"
)

// Repair makes a history fit to be sent to a provider: for programs that edit or cut one, or go on with another provider's. It
// returns a new list; messages that need no change are in it as they are, the same parts in memory, so that a [Memo] knows
// them. Repairing what was repaired changes nothing.
//
//   - Every call gets exactly one result, in front of whatever else came before the model's next turn. A call without one gets an
//     error result that says so, in a message of its own.
//   - A result without a call becomes text in a user message: what a tool said is not lost. So does other content of a tool's
//     message.
//   - What another provider signed means nothing to this one and is left out: thinking and signatures in messages of another
//     author, and opaque parts of another provider.
//   - Messages without content are left out: without parts, or with nothing but blank text.
//
// Calls and results are paired within a turn of the model (its consecutive messages), by id, so ids may occur again later.
//
// What becomes of a message depends on the messages up to it and on the provider, never on later ones. Only the error results
// of missing calls are made when the model's next turn begins, or the history ends. So wherever a turn of the model begins at
// messages[i], Repair(messages[:i]), which is what that turn was the answer to, is a prefix of Repair(messages).
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

// noResult is what the model reads in place of a result that is not there.
const noResult = "Error: there is no result of this call. It may have been interrupted, so what it has done is unknown."

// repairer goes through a history once.
type repairer struct {
	provider string
	out      []Message
	open     []ToolCall // calls of the model's last turn that have no result yet
	held     []Message  // what has to wait until they have
}

// settle ends what the model's last turn began.
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

// own returns a message's parts without what another provider signed, the same in memory when there is nothing of that kind.
func (r *repairer) own(m Message) Parts {
	foreign := func(p Part) bool {
		switch p := p.(type) {
		case Thinking:
			return m.Provider != r.provider
		case Text:
			return m.Provider != r.provider && p.Signature != ""
		case ToolCall:
			return m.Provider != r.provider && p.Signature != ""
		case Opaque:
			return p.Provider != r.provider
		}
		return false
	}
	if !slices.ContainsFunc(m.Parts, foreign) {
		return m.Parts
	}
	kept := make(Parts, 0, len(m.Parts))
	for _, p := range m.Parts {
		if foreign(p) {
			switch signed := p.(type) {
			case Text:
				signed.Signature = ""
				p = signed
			case ToolCall:
				signed.Signature = ""
				p = signed
			default:
				continue
			}
		}
		kept = append(kept, p)
	}
	return kept
}

// other takes a message that is not the model's.
func (r *repairer) other(m Message) {
	m.Parts = r.own(m)
	var results, rest, lost Parts
	for _, p := range m.Parts {
		result, ok := p.(ToolResult)
		switch {
		case !ok:
			rest = append(rest, p)
		case r.answer(result.CallID):
			results = append(results, p)
		default:
			lost = append(lost, asText(result)...)
		}
	}
	waiting := len(r.open) > 0 || len(r.held) > 0
	intact := len(lost) == 0 && (len(rest) == 0 || m.Role != RoleTool) // that role is for results only
	switch {
	case intact && (len(rest) == 0 || !waiting):
		r.add(m, len(results) > 0)
	case intact && len(results) == 0:
		r.add(m, false)
	default: // the message is two or three
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

// add puts a message where it belongs: results at once, everything else behind the results that are still to come.
func (r *repairer) add(m Message, results bool) {
	switch {
	case empty(m):
	case results || len(r.open) == 0 && len(r.held) == 0:
		r.out = append(r.out, m)
	default:
		r.held = append(r.held, m)
	}
}

// answer closes a call and reports whether it was open.
func (r *repairer) answer(id string) bool {
	for i, c := range r.open {
		if c.ID == id {
			r.open = slices.Delete(r.open, i, i+1)
			return true
		}
	}
	return false
}

// asText is a result whose call is gone.
func asText(result ToolResult) Parts {
	name := result.Name
	if name == "" {
		name = "a tool"
	}
	outcome := "Result"
	if result.IsError {
		outcome = "Error result"
	}
	return append(TextParts(outcome+" of an earlier call of "+name+":\n"), result.Content...)
}

// empty says that a message has nothing that an API would take.
func empty(m Message) bool {
	for _, p := range m.Parts {
		if t, ok := p.(Text); !ok || t.Signature != "" || strings.TrimSpace(t.Text) != "" {
			return false
		}
	}
	return true
}
