package agent

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/conversation"
	"github.com/attractor-go/attractor/llm"
)

// maxMends limits how often an input leaves out what a provider has rejected.
const maxMends = 3

// A mendRecord leaves something out of all further requests to a model, because its provider has
// rejected it.
type mendRecord struct {
	Provider string        `json:"provider"`
	Model    string        `json:"model"`
	Places   []mendedPlace `json:"places,omitempty"`
	Tools    []string      `json:"tools,omitempty"` // definitions, by name
	Quirk    llm.Quirk     `json:"quirk,omitempty"` // instead: a demand that requests meet from now on
	What     []string      `json:"what,omitempty"`  // for people, what is left out
	Text     string        `json:"text"`            // what the provider said
}

func (mendRecord) kind() string { return "mend" }

// A mendedPlace is a part of a turn, or a whole turn.
type mendedPlace struct {
	Turn int `json:"turn"` // its number
	Part int `json:"part"` // wholeTurn, or an index of its message's parts
}

const wholeTurn = -1

// mended holds what requests to a model leave out.
type mended struct {
	Places map[mendedPlace]bool
	Tools  map[string]bool
	Quirks []llm.Quirk // that requests to it meet
}

// accepted describes the newest request that a model has answered.
type accepted struct {
	By    ModelName
	Turn  int // the number of its last turn
	Tools []llm.ToolDefinition
}

// accept notes what a model has answered to, in place of what it had before.
func (s *State) accept(now accepted) {
	others := slices.DeleteFunc(slices.Clone(s.accepted), func(a accepted) bool { return a.By == now.By })
	s.accepted = append(others, now)
}

// acceptedBy returns the newest request that a model has answered, if there is one.
func (s *State) acceptedBy(model ModelName) (last accepted, had bool) {
	i := slices.IndexFunc(s.accepted, func(a accepted) bool { return a.By == model })
	if i < 0 {
		return accepted{}, false
	}
	return s.accepted[i], true
}

// mendStep returns the step that leaves out what the provider has rejected. Ok is false if it is
// not known what that is, if the provider has said the same before, or if that was done often
// enough in this input.
func (s *State) mendStep(f *Fault) (step Step, ok bool) {
	switch {
	case f.Rejected == nil, !f.RetryAt.IsZero(), s.failedIn < s.askedSince:
		return Step{}, false
	case len(s.Input.Rejections) >= maxMends:
		return Step{}, false
	}
	m := &mendRecord{Provider: s.Provider, Model: s.Model, Text: f.Text}
	if q := f.Rejected.Quirk; q != "" {
		m.Quirk = q
		return Step{Act: ActMend, mend: m}, !slices.Contains(s.mended[s.askedModel()].Quirks, q)
	}
	if slices.Contains(s.Input.Rejections, f.Text) {
		return Step{}, false
	}
	m.Places, m.Tools = s.suspects(f)
	m.Places = slices.DeleteFunc(m.Places, func(p mendedPlace) bool { return s.mended[s.askedModel()].Places[p] })
	m.Tools = slices.DeleteFunc(m.Tools, func(name string) bool { return s.mended[s.askedModel()].Tools[name] })
	m.What = s.whatIsLeftOut(m)
	return Step{Act: ActMend, mend: m}, len(m.Places)+len(m.Tools) > 0
}

// suspects returns what a rejection may be about: what it names, or else, of all that the model has
// not accepted yet, the media, the calls that no API takes, or the definitions of MCP tools.
func (s *State) suspects(f *Fault) (places []mendedPlace, tools []string) {
	r := f.Rejected
	switch {
	case r.Tool != "" && r.Tool != s.Policy.resultTool():
		return nil, []string{r.Tool}
	case r.Tool != "":
		return nil, nil
	case r.Thinking:
		return s.encryptedReasoning(), nil
	case r.Message > 0 && r.Message <= len(s.Turns): // the system prompt is the first message
		return s.placesAt(r.Message-1, r.Part), nil
	}
	before, _ := s.acceptedBy(s.askedModel())
	places = s.mediaSince(before.Turn)
	if len(places) == 0 && r.Media { // which it had accepted
		places = s.mediaSince(0)
	}
	if len(places) > 0 || f.tooLong() || f.refused() {
		return places, nil
	}
	if places = s.oddCallsSince(before.Turn); len(places) > 0 {
		return places, nil
	}
	for _, def := range s.tools {
		same := func(other llm.ToolDefinition) bool {
			return def.Name == other.Name && def.Description == other.Description &&
				bytes.Equal(def.Parameters, other.Parameters)
		}
		if strings.HasPrefix(def.Name, mcpPrefix) && !slices.ContainsFunc(before.Tools, same) {
			tools = append(tools, def.Name)
		}
	}
	return nil, tools
}

// mcpPrefix begins the names of the tools of MCP servers.
const mcpPrefix = "mcp__"

// placesAt returns what can be left out at a part of a turn, or in the whole turn: an answer goes
// with the results of its calls, and of what people say only the media go.
func (s *State) placesAt(turn, part int) []mendedPlace {
	t := &s.Turns[turn]
	switch {
	case t.Kind == TurnAssistant:
		return s.answerPlaces(turn)
	case t.Kind == TurnToolResults && part < 0:
		return s.answerPlaces(turn - 1)
	}
	var places []mendedPlace
	for i, p := range t.Message.Parts {
		if (i == part || part < 0) && (t.Kind == TurnToolResults || conversation.IsMedia(p)) {
			places = append(places, mendedPlace{t.Number, i})
		}
	}
	return places
}

// answerPlaces returns an answer and the results of its calls.
func (s *State) answerPlaces(turn int) []mendedPlace {
	if turn < 0 || s.Turns[turn].Kind != TurnAssistant {
		return nil
	}
	places := []mendedPlace{{s.Turns[turn].Number, wholeTurn}}
	if next := turn + 1; next < len(s.Turns) && s.Turns[next].Kind == TurnToolResults {
		places = append(places, mendedPlace{s.Turns[next].Number, wholeTurn})
	}
	return places
}

// mediaSince returns the media of the turns behind a number, also those in results.
func (s *State) mediaSince(number int) []mendedPlace {
	var places []mendedPlace
	for _, t := range s.Turns {
		for i, p := range t.Message.Parts {
			if r, ok := p.(llm.ToolResult); t.Number > number &&
				(conversation.IsMedia(p) || ok && slices.ContainsFunc(r.Content, conversation.IsMedia)) {
				places = append(places, mendedPlace{t.Number, i})
			}
		}
	}
	return places
}

// encryptedReasoning returns the reasoning that only its provider can read.
func (s *State) encryptedReasoning() []mendedPlace {
	var places []mendedPlace
	for _, t := range s.Turns {
		for i, p := range t.Message.Parts {
			if conversation.IsEncrypted(p) {
				places = append(places, mendedPlace{t.Number, i})
			}
		}
	}
	return places
}

// foldMend leaves something out from now on. That changes the beginning of the requests if the
// model has already answered to it.
func (s *State) foldMend(r mendRecord) {
	name := ModelName{r.Provider, r.Model}
	now := s.mended[name]
	now.Places, now.Tools = maps.Clone(now.Places), maps.Clone(now.Tools)
	if now.Places == nil {
		now = mended{map[mendedPlace]bool{}, map[string]bool{}, nil}
	}
	before, had := s.acceptedBy(name)
	changed := had && (len(r.Tools) > 0 || r.Quirk != "")
	if r.Quirk != "" {
		now.Quirks = append(slices.Clone(now.Quirks), r.Quirk)
	}
	for _, p := range r.Places {
		now.Places[p] = true
		changed = changed || p.Turn <= before.Turn
	}
	for _, tool := range r.Tools {
		now.Tools[tool] = true
	}
	if len(r.Tools) > 0 {
		s.addContext("The model's provider has rejected the definitions of these tools, so they are left out and "+
			"cannot be called: "+
			strings.Join(r.Tools, ", "), "")
	}
	s.mended = with(s.mended, name, now)
	s.Faults = nil
	s.Input.Rejections = append(s.Input.Rejections, r.Text)
	if changed {
		s.Epoch++
	}
	s.gatherAnew()
}

// moveMended leaves media out of the turn of a compaction that are left out of the turns that it
// replaces, of which nothing else remains.
func (s *State) moveMended(replaced []Turn, compaction Turn) {
	for name, m := range s.mended {
		now := m
		now.Places = map[mendedPlace]bool{}
		for p := range m.Places {
			at := slices.IndexFunc(replaced, func(t Turn) bool { return t.Number == p.Turn })
			if at < 0 {
				now.Places[p] = true
				continue
			}
			was, ok := partAt(&replaced[at], p.Part).(llm.Media)
			for i, part := range compaction.Message.Parts {
				if is, same := part.(llm.Media); ok && same && is.MIME == was.MIME && is.URL == was.URL &&
					bytes.Equal(is.Data, was.Data) {
					now.Places[mendedPlace{compaction.Number, i}] = true
				}
			}
		}
		s.mended = with(s.mended, name, now)
	}
}

// partAt returns a part of a turn, nil if it has none there.
func partAt(t *Turn, i int) llm.Part {
	if i < 0 || i >= len(t.Message.Parts) {
		return nil
	}
	return t.Message.Parts[i]
}

// gatherAnew rebuilds the messages, if they are there and something is left out of them for some
// model.
func (s *State) gatherAnew() {
	if s.messages != nil && len(s.mended) > 0 {
		s.messages = nil
		s.gather()
	}
}

// offered returns the definitions of the next request.
func (s *State) offered() []llm.ToolDefinition {
	m := s.mended[s.askedModel()]
	if len(m.Tools) == 0 {
		return s.tools
	}
	return slices.DeleteFunc(slices.Clone(s.tools), func(d llm.ToolDefinition) bool { return m.Tools[d.Name] })
}

// mostQuoted limits a provider's words in a warning, in bytes.
const mostQuoted = 500

// warning returns the event of the record.
func (r *mendRecord) warning() *Warning {
	said := conversation.Limited(r.Text, mostQuoted)
	text := fmt.Sprintf("%s has rejected the conversation: %q. Requests to %s leave out from now on: %s. The session "+
		"keeps it.", r.Provider, said, r.Model, strings.Join(r.What, "; "))
	if r.Quirk != "" {
		text = fmt.Sprintf("%s has rejected the form of the request: %q. Requests to %s have the form that it wants "+
			"from now on.", r.Provider, said, r.Model)
	}
	return &Warning{Code: "rejection_mended", Text: text}
}

// whatIsLeftOut names for people what a record leaves out.
func (s *State) whatIsLeftOut(r *mendRecord) []string {
	var what []string
	reasoning := 0 // the last turn whose reasoning is left out
	for _, p := range r.Places {
		at := slices.IndexFunc(s.Turns, func(t Turn) bool { return t.Number == p.Turn })
		t := &s.Turns[at]
		switch {
		case conversation.IsEncrypted(partAt(t, p.Part)):
			reasoning = p.Turn
		case p.Part != wholeTurn:
			what = append(what, fmt.Sprintf("%s in turn %d", conversation.PartName(t.Message.Parts[p.Part]), p.Turn))
		case t.Kind == TurnAssistant:
			what = append(what, fmt.Sprintf("the form of the answer in turn %d, which it now reads as text", p.Turn))
		}
	}
	if reasoning > 0 {
		what = append(what, fmt.Sprintf("the encrypted reasoning up to turn %d", reasoning))
	}
	for _, tool := range r.Tools {
		what = append(what, "the definition of "+tool)
	}
	return what
}

// oddCallsSince returns the answers behind a number with calls that an API may reject.
func (s *State) oddCallsSince(number int) []mendedPlace {
	var places []mendedPlace
	for i, t := range s.Turns {
		if t.Number > number && slices.ContainsFunc(t.Message.Parts.ToolCalls(), conversation.IsOdd) {
			places = append(places, s.answerPlaces(i)...)
		}
	}
	return places
}

// sent returns a turn's message as requests to the current model have it.
func (s *State) sent(turn int) llm.Message {
	t := &s.Turns[turn]
	m := s.mended[s.askedModel()]
	switch whole := m.Places[mendedPlace{t.Number, wholeTurn}]; {
	case len(m.Places) == 0:
		return t.Message
	case whole && t.Kind == TurnToolResults && turn > 0:
		return conversation.ToldCalls(s.Turns[turn-1].Message, t.Message)
	case whole:
		return conversation.ToldAnswer(t.Message)
	}
	message, changed := t.Message, false
	for i, part := range t.Message.Parts {
		if !m.Places[mendedPlace{t.Number, i}] {
			continue
		}
		if !changed {
			message.Parts, changed = slices.Clone(message.Parts), true
		}
		message.Parts[i] = conversation.Placeholder(part)
	}
	return message
}
