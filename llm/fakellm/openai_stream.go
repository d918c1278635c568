package fakellm

import (
	"maps"
)

// openaiStream writes a response's events in the order in which the API sends them.
type openaiStream struct {
	f      *openai
	frames []frame
	index  int // of the item
}

// stream implements format.
func (f *openai) stream(a *response) []frame {
	s := &openaiStream{f: f}
	begun := f.response(a, "in_progress", []map[string]any{})
	s.add("response.created", map[string]any{"response": begun})
	s.add("response.in_progress", map[string]any{"response": begun})
	items := f.items(a)
	for i, item := range items {
		s.index = i
		switch item["type"] {
		case "reasoning":
			s.reasoning(item, a)
		case "web_search_call":
			s.item(item, map[string]any{}, func() {
				for _, state := range []string{"in_progress", "searching", "completed"} {
					s.within("response.web_search_call."+state, item, map[string]any{})
				}
			})
		case "message":
			s.message(item, a)
		case "function_call":
			s.call(item, "arguments", "response.function_call_arguments")
		case "custom_tool_call":
			s.call(item, "input", "response.custom_tool_call_input")
		case "tool_search_call":
			// as the API does
			s.item(item, map[string]any{"arguments": map[string]any{}, "call_id": "call_of_the_beginning"}, func() {})
		}
	}
	status, _ := a.openaiStatus()
	s.add("response."+status, map[string]any{"response": f.response(a, status, items)}).closing = true
	return s.frames
}

// add writes an event.
func (s *openaiStream) add(event string, members map[string]any) *frame {
	m := maps.Clone(members)
	m["type"], m["sequence_number"] = event, len(s.frames)
	s.frames = append(s.frames, frame{event: event, data: encode(m)})
	return &s.frames[len(s.frames)-1]
}

// within writes an event of the current item.
func (s *openaiStream) within(event string, item map[string]any, members map[string]any) *frame {
	m := maps.Clone(members)
	m["item_id"], m["output_index"] = item["id"], s.index
	return s.add(event, m)
}

// item writes the beginning, the inside and the end of an item.
func (s *openaiStream) item(item map[string]any, begin map[string]any, inside func()) {
	added := maps.Clone(item)
	maps.Copy(added, begin)
	if _, ok := item["status"]; ok {
		added["status"] = "in_progress"
	}
	s.add("response.output_item.added", map[string]any{"output_index": s.index, "item": added})
	inside()
	s.add("response.output_item.done", map[string]any{"output_index": s.index, "item": item})
}

// deltas writes the pieces of a text. The real API pads them to hide their length from
// eavesdroppers.
func (s *openaiStream) deltas(event string, item map[string]any, pieces []string, more map[string]any) {
	for _, p := range pieces {
		m := maps.Clone(more)
		m["delta"], m["obfuscation"] = p, sign(p)[:16-len(p)%16]
		s.within(event, item, m).content = true
	}
}

func (s *openaiStream) reasoning(item map[string]any, a *response) {
	part := func(text string) map[string]any {
		return map[string]any{"summary_index": 0, "part": map[string]any{"type": "summary_text", "text": text}}
	}
	s.item(item, map[string]any{"summary": []any{}}, func() {
		s.within("response.reasoning_summary_part.added", item, part(""))
		at := map[string]any{"summary_index": 0}
		s.deltas("response.reasoning_summary_text.delta", item, words(a.Thinking, s.f.words), at)
		s.within("response.reasoning_summary_text.done", item, map[string]any{"summary_index": 0, "text": a.Thinking})
		s.within("response.reasoning_summary_part.done", item, part(a.Thinking))
	})
}

func (s *openaiStream) message(item map[string]any, a *response) {
	whole := s.f.text(a, a.Text)
	kind, member := "response.output_text", "text"
	if whole["type"] == "refusal" {
		kind, member = "response.refusal", "refusal"
	}
	s.item(item, map[string]any{"content": []any{}}, func() {
		s.within("response.content_part.added", item, map[string]any{"content_index": 0, "part": s.f.text(a, "")})
		at := map[string]any{"content_index": 0}
		done := map[string]any{"content_index": 0, member: a.Text}
		if member == "text" {
			at["logprobs"], done["logprobs"] = []any{}, []any{}
		}
		s.deltas(kind+".delta", item, words(a.Text, s.f.words), at)
		s.within(kind+".done", item, done)
		s.within("response.content_part.done", item, map[string]any{"content_index": 0, "part": whole})
	})
}

func (s *openaiStream) call(item map[string]any, member, event string) {
	args, _ := item[member].(string)
	s.item(item, map[string]any{member: ""}, func() {
		s.deltas(event+".delta", item, bytewise(args, argBytes(s.f.words)), map[string]any{})
		s.within(event+".done", item, map[string]any{member: args})
	})
}
