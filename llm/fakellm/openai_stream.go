package fakellm

import "maps"

// openaiStream writes a response's events in the order in which the API sends them.
type openaiStream struct {
	f      *openai
	frames []frame
	index  int // of the item
}

// stream implements format.
func (f *openai) stream(a *response) []frame {
	s := &openaiStream{f: f}
	begun := f.response(a, "in_progress", []object{})
	s.add("response.created", object{"response": begun})
	s.add("response.in_progress", object{"response": begun})
	items := f.items(a)
	for i, item := range items {
		s.index = i
		switch item["type"] {
		case "reasoning":
			s.reasoning(item, a)
		case "web_search_call":
			s.item(item, object{}, func() {
				for _, state := range []string{"in_progress", "searching", "completed"} {
					s.within("response.web_search_call."+state, item, object{})
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
			s.item(item, object{"arguments": object{}, "call_id": "call_of_the_beginning"}, func() {})
		}
	}
	status, _ := a.openaiStatus()
	s.add("response."+status, object{"response": f.response(a, status, items)}).closing = true
	return s.frames
}

// add writes an event.
func (s *openaiStream) add(event string, members object) *frame {
	members["type"], members["sequence_number"] = event, len(s.frames)
	s.frames = append(s.frames, frame{event: event, data: encode(members)})
	return &s.frames[len(s.frames)-1]
}

// within writes an event of the current item.
func (s *openaiStream) within(event string, item object, members object) *frame {
	members["item_id"], members["output_index"] = item["id"], s.index
	return s.add(event, members)
}

// item writes an item: its beginning, with the members of begin, the events that inside writes, and
// its end.
func (s *openaiStream) item(item object, begin object, inside func()) {
	added := maps.Clone(item)
	maps.Copy(added, begin)
	if _, ok := item["status"]; ok {
		added["status"] = "in_progress"
	}
	s.add("response.output_item.added", object{"output_index": s.index, "item": added})
	inside()
	s.add("response.output_item.done", object{"output_index": s.index, "item": item})
}

// deltas writes the pieces of a text. The real API pads them to hide their length from
// eavesdroppers.
func (s *openaiStream) deltas(event string, item object, pieces []string, more object) {
	for _, p := range pieces {
		m := maps.Clone(more)
		m["delta"], m["obfuscation"] = p, sign(p)[:16-len(p)%16]
		s.within(event, item, m).content = true
	}
}

func (s *openaiStream) reasoning(item object, a *response) {
	part := func(text string) object {
		return object{"summary_index": 0, "part": object{"type": "summary_text", "text": text}}
	}
	s.item(item, object{"summary": []any{}}, func() {
		s.within("response.reasoning_summary_part.added", item, part(""))
		at := object{"summary_index": 0}
		s.deltas("response.reasoning_summary_text.delta", item, words(a.Thinking, s.f.words), at)
		s.within("response.reasoning_summary_text.done", item, object{"summary_index": 0, "text": a.Thinking})
		s.within("response.reasoning_summary_part.done", item, part(a.Thinking))
	})
}

func (s *openaiStream) message(item object, a *response) {
	whole := s.f.text(a, a.Text)
	kind, member := "response.output_text", "text"
	if whole["type"] == "refusal" {
		kind, member = "response.refusal", "refusal"
	}
	s.item(item, object{"content": []any{}}, func() {
		s.within("response.content_part.added", item, object{"content_index": 0, "part": s.f.text(a, "")})
		at := object{"content_index": 0}
		done := object{"content_index": 0, member: a.Text}
		if member == "text" {
			at["logprobs"], done["logprobs"] = []any{}, []any{}
		}
		s.deltas(kind+".delta", item, words(a.Text, s.f.words), at)
		s.within(kind+".done", item, done)
		s.within("response.content_part.done", item, object{"content_index": 0, "part": whole})
	})
}

func (s *openaiStream) call(item object, member, event string) {
	args, _ := item[member].(string)
	s.item(item, object{member: ""}, func() {
		s.deltas(event+".delta", item, bytewise(args, argBytes(s.f.words)), object{})
		s.within(event+".done", item, object{member: args})
	})
}
