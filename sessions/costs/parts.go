package costs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/instructions"
	"github.com/attractor-go/attractor/llm"
)

// A Kind is a kind of [Part].
type Kind string

// The kinds of parts.
const (
	System   Kind = "system"   // the system prompt without its documents
	Document Kind = "document" // of a project or a user, in the system prompt or later
	Tools    Kind = "tools"    // the definitions of the tools of an MCP server, or of all others
	Message  Kind = "message"  // of a person
	Answer   Kind = "answers"  // all answers of the model, with their calls
	Result   Kind = "result"   // of one call
	Note     Kind = "note"     // a text that a capability, such as a skill or a hook, has added
	Summary  Kind = "summary"  // what a compaction has put in place of the history
	Aside    Kind = "aside"    // requests beside the conversation, such as those for a summary
)

// A Part is a part of the prompt, with what it has cost as the input of all requests until now.
type Part struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name,omitempty"` // of the document, the server, the tool or the note
	Turn int    `json:"turn,omitempty"` // the number of the turn, of a message, result or summary
	// Args are those of the call of a result, empty if they are long.
	Args     json.RawMessage `json:"-"`
	Requests int             `json:"requests"`           // that had it
	Tokens   int             `json:"tokens"`             // in all of them together
	USD      float64         `json:"cost_usd,omitempty"` // 0 if the prices are not known
}

// key identifies a part.
type key struct {
	kind Kind
	name string // also of a result, whose call this is
	turn int
}

// part is a Part with the tokens as they are estimated.
type part struct {
	Part
	tokens float64
	on     *bill // the newest that has it
}

// maxArgs limits the arguments of calls that are kept, in bytes.
const maxArgs = 2 << 10

// Parts returns all parts that have cost something, the dearest first.
func (s *Sum) Parts() []Part {
	s.next.settle()
	parts := make([]Part, 0, len(s.parts))
	for _, p := range s.parts {
		if p.Tokens = int(math.Round(p.tokens)); p.Requests > 0 {
			parts = append(parts, p.Part)
		}
	}
	slices.SortFunc(parts, func(a, b Part) int {
		return cmp.Or(cmp.Compare(b.USD, a.USD), cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Turn, b.Turn),
			strings.Compare(a.String(), b.String()))
	})
	return parts
}

// String names the part in words. It leaves out the arguments of a call.
func (p Part) String() string {
	switch p.Kind {
	case System:
		return "the system prompt"
	case Document:
		return "the document " + p.Name
	case Tools:
		if p.Name == "" {
			return "the built-in tools"
		}
		return "the tools of the server " + p.Name
	case Message:
		return fmt.Sprintf("the message of turn %d", p.Turn)
	case Answer:
		return "the model's answers and calls"
	case Result:
		return fmt.Sprintf("the result of %s in turn %d", p.Name, p.Turn)
	case Summary:
		return fmt.Sprintf("the summary in turn %d", p.Turn)
	case Aside:
		return "requests for summaries"
	}
	return "the note " + p.Name
}

// part returns the part of a key, which it adds if it is new.
func (s *Sum) part(k key) *part {
	if s.parts[k] == nil {
		s.parts[k] = &part{Part: Part{Kind: k.kind, Name: k.name, Turn: k.turn}}
	}
	return s.parts[k]
}

// pay adds the cost of a request to its parts. It is called before follow for the same record.
func (s *Sum) pay(kind string, used Spent) {
	switch kind {
	case "child":
	case "compact", "spent":
		aside := newBill([]share{{1, s.part(key{kind: Aside})}})
		s.charge(aside, 1, used, s.aside)
		aside.settle()
	case "renewal": // the last request again, without the answer to it
		s.charge(s.next, len(s.next.shares)-1, used, s.asked)
	default:
		s.charge(s.next, len(s.next.shares), used, s.asked)
	}
}

// charge divides the cost of the input of a request that had the first n shares of a bill.
func (s *Sum) charge(b *bill, n int, used Spent, model agent.ModelName) {
	read := float64(used.Usage.CacheRead)
	b.charge(n, float64(used.Usage.Input), read, read+float64(used.Usage.CacheWrite), s.prices(used, model))
}

// prices holds the prices of a request's input, in US dollars per token.
type prices struct{ fresh, read, write float64 }

// of returns the price of the tokens from one up to another of an input, the first of which were
// read from the cache and the next ones written to it.
func (p prices) of(begin, end, read, written float64) float64 {
	return p.read*(min(end, read)-min(begin, read)) +
		p.write*(min(max(end, read), written)-min(max(begin, read), written)) +
		p.fresh*(max(end, written)-max(begin, written))
}

// prices returns the prices that result in the cost of a request, or zeros if they are not known.
func (s *Sum) prices(used Spent, model agent.ModelName) prices {
	if s.facts == nil {
		return prices{}
	}
	facts, ok := s.facts(model.Provider, model.Model)
	all, known := facts.Cost(used.Usage)
	if !ok || !known || all == 0 {
		return prices{}
	}
	u, factor := used.Usage, used.USD/all
	u.Output, u.Searches = 0, 0
	of := func(u llm.Usage) float64 { // with the same input, by which there may be several prices
		usd, _ := facts.Cost(u)
		return usd * factor
	}
	input := float64(u.Input)
	p := prices{fresh: of(llm.Usage{Input: u.Input}) / input,
		read: of(llm.Usage{Input: u.Input, CacheRead: u.Input}) / input}
	if written := float64(u.CacheWrite); written > 0 { // some of it perhaps for longer
		read := float64(u.CacheRead)
		p.write = (of(u) - p.read*read - p.fresh*(input-read-written)) / written
	}
	return p
}

// follow finds the parts of the next request.
func (s *Sum) follow(state *agent.State) {
	tools, messages := state.Prompt()
	turns := state.Turns
	if len(messages) != len(turns)+1 {
		return
	}
	if state.Epoch != s.epoch || s.turns > len(turns) || s.turns == 0 {
		s.next.settle()
		s.epoch, s.turns, s.next = state.Epoch, 0, newBill(s.beginning(&state.Header, tools))
	}
	for i := s.turns; i < len(turns); i++ {
		s.next.add(s.turn(turns, i, messages[i+1]))
	}
	s.turns = len(turns)
}

// size returns the size of a message, in characters.
func size(m llm.Message) int {
	var c agent.Context
	c.Add(m)
	return c.Chars
}

// beginning returns the parts before the turns: the tools, by server, and the system prompt.
func (s *Sum) beginning(h *agent.Header, tools []llm.ToolDefinition) (parts []share) {
	servers := map[string]*agent.Context{}
	for i := range tools {
		server := ""
		if name, ok := strings.CutPrefix(tools[i].Name, "mcp__"); ok {
			server, _, _ = strings.Cut(name, "__")
		}
		if servers[server] == nil {
			servers[server] = new(agent.Context)
		}
		servers[server].AddTools(tools[i : i+1])
	}
	for _, server := range slices.Sorted(maps.Keys(servers)) {
		parts = append(parts, share{servers[server].Chars, s.part(key{kind: Tools, name: server})})
	}
	chars := size(llm.System(h.System))
	own := len(parts)
	parts = append(parts, share{chars, s.part(key{kind: System})})
	for _, d := range h.Documents {
		n := d.Bytes * chars / max(len(h.System), 1)
		parts[own].chars -= n
		parts = append(parts, share{n, s.part(key{kind: Document, name: d.Path})})
	}
	return parts
}

// turn returns the parts of a turn: one, or one for each result. Sent is its message in requests.
func (s *Sum) turn(turns []agent.Turn, i int, sent llm.Message) []share {
	t := &turns[i]
	k := key{kind: Note, name: cmp.Or(t.Note, string(t.Origin))}
	document, isDocument := strings.CutPrefix(t.Note, instructions.NotePrefix)
	switch {
	case t.Kind == agent.TurnToolResults && sent.Role == llm.RoleTool:
		var calls []llm.ToolCall
		if i > 0 {
			calls = turns[i-1].Message.Parts.ToolCalls()
		}
		return s.results(t.Number, calls, sent)
	case t.Kind == agent.TurnAssistant, t.Kind == agent.TurnToolResults: // or its calls are told as text
		k = key{kind: Answer}
	case t.Kind == agent.TurnCompaction:
		k = key{kind: Summary, turn: t.Number}
	case t.Kind == agent.TurnUser, t.Origin == agent.OriginSteer:
		k = key{kind: Message, turn: t.Number}
	case isDocument:
		k = key{kind: Document, name: document}
	}
	return []share{{size(sent), s.part(k)}}
}

// results returns the parts of the results of calls.
func (s *Sum) results(turn int, calls []llm.ToolCall, sent llm.Message) (parts []share) {
	for _, content := range sent.Parts {
		result, ok := content.(llm.ToolResult)
		if !ok {
			continue
		}
		p := s.part(key{Result, result.CallID, turn})
		p.Name = result.Name
		at := slices.IndexFunc(calls, func(c llm.ToolCall) bool { return c.ID == result.CallID })
		if at >= 0 && len(calls[at].Args) <= maxArgs {
			p.Args = json.RawMessage(calls[at].Args)
		}
		parts = append(parts, share{size(llm.ToolResults(result)), p})
	}
	return parts
}
