package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// maxMends limits how often an input leaves out what a provider has refused.
const maxMends = 3

// A mendRecord leaves something out of all further requests to a model, because its provider has refused it.
type mendRecord struct {
	Provider string        `json:"provider"`
	Model    string        `json:"model"`
	Places   []mendedPlace `json:"places,omitempty"`
	Tools    []string      `json:"tools,omitempty"` // definitions, by name
	Quirk    llm.Quirk     `json:"quirk,omitempty"` // instead: a demand of the server, which the requests meet from now on
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
	Turn  int // the number of its last turn
	Tools []llm.ToolDefinition
}

// acceptAll notes that the current model has answered to all turns so far.
func (s *State) acceptAll() {
	now := accepted{s.turnCount, s.tools}
	s.accepted = maps.Clone(s.accepted)
	if s.accepted == nil {
		s.accepted = map[ModelName]accepted{}
	}
	s.accepted[s.askedModel()] = now
}

// mendStep returns the step that leaves out what the provider has refused. Ok is false if it is not known what that is, if the provider
// has said the same before, or if that was done often enough in this input.
func (s *State) mendStep(f *Fault) (step Step, ok bool) {
	switch {
	case f.Refused == nil, !f.RetryAt.IsZero(), s.failedIn < s.askedSince:
		return Step{}, false
	case len(s.Input.Refusals) >= maxMends, slices.Contains(s.Input.Refusals, f.Text):
		return Step{}, false
	}
	m := &mendRecord{Provider: s.Provider, Model: s.Model, Text: f.Text}
	if q := f.Refused.Quirk; q != "" {
		m.Quirk = q
		return Step{Act: ActMend, mend: m}, !slices.Contains(s.mended[s.askedModel()].Quirks, q)
	}
	m.Places, m.Tools = s.suspects(f)
	m.Places = slices.DeleteFunc(m.Places, func(p mendedPlace) bool { return s.mended[s.askedModel()].Places[p] })
	m.Tools = slices.DeleteFunc(m.Tools, func(name string) bool { return s.mended[s.askedModel()].Tools[name] })
	m.What = s.whatIsLeftOut(m)
	return Step{Act: ActMend, mend: m}, len(m.Places)+len(m.Tools) > 0
}

// suspects returns what a refusal may be about: what it names, or else, of all that the model has not accepted yet, the media, the calls
// that no API takes, or the definitions of MCP tools.
func (s *State) suspects(f *Fault) (places []mendedPlace, tools []string) {
	r := f.Refused
	switch {
	case r.Tool != "" && r.Tool != s.Policy.resultTool():
		return nil, []string{r.Tool}
	case r.Tool != "":
		return nil, nil
	case r.Message > 0 && r.Message <= len(s.Turns): // the system prompt is the first message
		return s.placesAt(r.Message-1, r.Part), nil
	}
	before := s.accepted[s.askedModel()]
	places = s.mediaSince(before.Turn)
	if len(places) == 0 && r.Media { // which it had accepted
		places = s.mediaSince(0)
	}
	if len(places) == 0 && !f.tooLong() {
		places = s.oddCallsSince(before.Turn)
	}
	if len(places) > 0 || f.tooLong() {
		return places, nil
	}
	for _, def := range s.tools {
		same := func(other llm.ToolDefinition) bool {
			return def.Name == other.Name && def.Description == other.Description && bytes.Equal(def.Parameters, other.Parameters)
		}
		if strings.HasPrefix(def.Name, mcpPrefix) && !slices.ContainsFunc(before.Tools, same) {
			tools = append(tools, def.Name)
		}
	}
	return nil, tools
}

// mcpPrefix begins the names of the tools of MCP servers.
const mcpPrefix = "mcp__"

// placesAt returns what can be left out at a part of a turn, or in the whole turn: an answer goes with the results of its calls, and of
// what people say only the media go.
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
		if (i == part || part < 0) && (t.Kind == TurnToolResults || isMedia(p)) {
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
			if r, ok := p.(llm.ToolResult); t.Number > number && (isMedia(p) || ok && slices.ContainsFunc(r.Content, isMedia)) {
				places = append(places, mendedPlace{t.Number, i})
			}
		}
	}
	return places
}

// oddCallsSince returns the answers behind a number with calls that an API may refuse.
func (s *State) oddCallsSince(number int) []mendedPlace {
	var places []mendedPlace
	name := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`) // of OpenAI, whose names are the shortest
	for i, t := range s.Turns {
		odd := slices.ContainsFunc(t.Message.Parts.ToolCalls(), func(c llm.ToolCall) bool {
			var object map[string]json.RawMessage
			return !name.MatchString(c.Name) || !c.Free && json.Unmarshal([]byte(c.Args), &object) != nil
		})
		if odd && t.Number > number {
			places = append(places, s.answerPlaces(i)...)
		}
	}
	return places
}

func isMedia(p llm.Part) bool {
	_, is := p.(llm.Media)
	return is
}

// foldMend leaves something out from now on. That changes the beginning of the requests if the model has already answered to it.
func (s *State) foldMend(r mendRecord) {
	name := ModelName{r.Provider, r.Model}
	now := s.mended[name]
	now.Places, now.Tools = maps.Clone(now.Places), maps.Clone(now.Tools)
	if now.Places == nil {
		now = mended{map[mendedPlace]bool{}, map[string]bool{}, nil}
	}
	before, had := s.accepted[name]
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
		s.addContext("The definitions of these tools are left out, because the model's provider has refused them, so they cannot be called: "+
			strings.Join(r.Tools, ", "), "")
	}
	s.setMended(name, now)
	s.Faults = nil
	s.Input.Refusals = append(s.Input.Refusals, r.Text)
	if changed {
		s.Epoch++
	}
	s.gatherAnew()
}

func (s *State) setMended(name ModelName, now mended) {
	s.mended = maps.Clone(s.mended)
	if s.mended == nil {
		s.mended = map[ModelName]mended{}
	}
	s.mended[name] = now
}

// moveMended leaves media out of the turn of a compaction that are left out of the turns that it replaces, of which nothing else remains.
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
				if is, same := part.(llm.Media); ok && same && is.MIME == was.MIME && is.URL == was.URL && bytes.Equal(is.Data, was.Data) {
					now.Places[mendedPlace{compaction.Number, i}] = true
				}
			}
		}
		s.setMended(name, now)
	}
}

// partAt returns a part of a turn, nil if it has none there.
func partAt(t *Turn, i int) llm.Part {
	if i < 0 || i >= len(t.Message.Parts) {
		return nil
	}
	return t.Message.Parts[i]
}

// gatherAnew rebuilds the messages, if they are there and something is left out of them for some model.
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

// sent returns a turn's message as requests to the current model have it.
func (s *State) sent(turn int) llm.Message {
	t := &s.Turns[turn]
	m := s.mended[s.askedModel()]
	switch whole := m.Places[mendedPlace{t.Number, wholeTurn}]; {
	case len(m.Places) == 0:
		return t.Message
	case whole && t.Kind == TurnToolResults && turn > 0:
		return toldCalls(s.Turns[turn-1].Message, t.Message)
	case whole:
		return toldAnswer(t.Message)
	}
	message, changed := t.Message, false
	for i, part := range t.Message.Parts {
		if !m.Places[mendedPlace{t.Number, i}] {
			continue
		}
		if !changed {
			message.Parts, changed = slices.Clone(message.Parts), true
		}
		message.Parts[i] = placeholder(part)
	}
	return message
}

// placeholder returns what the model reads in place of a part.
func placeholder(part llm.Part) llm.Part {
	switch p := part.(type) {
	case llm.Media:
		return llm.Text{Text: fmt.Sprintf("[%s was here. It is left out, because the model's provider has refused it.]", mediaName(p))}
	case llm.ToolResult:
		content := slices.Clone(p.Content)
		any := false
		for i, c := range content {
			if isMedia(c) {
				content[i], any = placeholder(c), true
			}
		}
		if !any {
			content = llm.TextParts("[The result of this call was here. It is left out, because the model's provider has refused it.]")
		}
		p.Content = content
		return p
	}
	return part
}

// mediaName names a medium by its type and size.
func mediaName(m llm.Media) string {
	what := "A document"
	if strings.HasPrefix(m.MIME, "image/") {
		what = "An image"
	}
	if m.URL != "" {
		return fmt.Sprintf("%s (%s)", what, m.MIME)
	}
	return fmt.Sprintf("%s (%s, %d KB)", what, m.MIME, (len(m.Data)+1023)>>10)
}

// toldAnswer returns the text of an answer alone. Its calls are told with their results.
func toldAnswer(m llm.Message) llm.Message {
	text := m.Parts.Text()
	if strings.TrimSpace(text) == "" {
		text = "(Calls only; they are told below.)"
	}
	return llm.Assistant(text)
}

// toldCalls returns the calls of an answer and their results as text, each call with its result.
func toldCalls(answer, results llm.Message) llm.Message {
	var b strings.Builder
	b.WriteString("[The model's provider has refused the form of these calls, so they are told as text. Go on calling tools as usual.]")
	var media llm.Parts
	for _, call := range answer.Parts.ToolCalls() {
		fmt.Fprintf(&b, "\n\nThe call of %q with %s", call.Name, call.Args)
		for _, p := range results.Parts {
			r, ok := p.(llm.ToolResult)
			if !ok || r.CallID != call.ID {
				continue
			}
			fmt.Fprintf(&b, "\nhad the result:\n%s", r.Content.Text())
			for _, c := range r.Content {
				if isMedia(c) {
					media = append(media, c)
				}
			}
		}
	}
	return llm.User(b.String(), media...)
}

// mostQuoted limits a provider's words in a warning, in bytes.
const mostQuoted = 500

// warning returns the event of the record.
func (r *mendRecord) warning() *Warning {
	said := limited(r.Text, mostQuoted)
	text := fmt.Sprintf("%s has refused the conversation: %q. Requests to %s leave out from now on: %s. The session keeps it.", r.Provider, said, r.Model, strings.Join(r.What, "; "))
	if r.Quirk != "" {
		text = fmt.Sprintf("%s has refused the form of the conversation: %q. Requests to %s have the form that it wants from now on.", r.Provider, said, r.Model)
	}
	return &Warning{Code: "refusal_mended", Text: text}
}

// whatIsLeftOut names for people what a record leaves out.
func (s *State) whatIsLeftOut(r *mendRecord) []string {
	var what []string
	for _, p := range r.Places {
		at := slices.IndexFunc(s.Turns, func(t Turn) bool { return t.Number == p.Turn })
		switch t := &s.Turns[at]; {
		case p.Part != wholeTurn:
			what = append(what, fmt.Sprintf("%s in turn %d", partName(t.Message.Parts[p.Part]), p.Turn))
		case t.Kind == TurnAssistant:
			what = append(what, fmt.Sprintf("the form of the answer in turn %d, which it now reads as text", p.Turn))
		}
	}
	for _, tool := range r.Tools {
		what = append(what, "the definition of "+tool)
	}
	return what
}

// partName names a part that is left out.
func partName(p llm.Part) string {
	switch p := p.(type) {
	case llm.Media:
		name := mediaName(p)
		return strings.ToLower(name[:1]) + name[1:]
	case llm.ToolResult:
		if i := slices.IndexFunc(p.Content, isMedia); i >= 0 {
			return partName(p.Content[i])
		}
		return "the result of " + p.Name
	}
	return "a part"
}
