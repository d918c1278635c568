package anthropic

import (
	"encoding/json"

	"github.com/attractor-go/attractor/llm/internal/api"
)

// delta is a decoded content_block_delta.
type delta struct {
	index int
	kind  deltaKind
	text  string
}

type deltaKind uint8

const (
	otherDelta deltaKind = iota
	textDelta
	thinkingDelta
	signatureDelta
	inputDelta
)

// scanDelta decodes the deltas that come by the thousand. It returns false for every other event and for JSON that it does not
// expect.
func scanDelta(data []byte) (d delta, ok bool) {
	const (
		hasType = 1 << iota
		hasIndex
		hasDelta
	)
	s := api.Scan(data)
	s.Want('{')
	for seen := 0; s.OK(); {
		bit := 0
		key := s.Word()
		s.Want(':')
		switch string(key) {
		case "type":
			bit = hasType
			if string(s.Word()) != "content_block_delta" {
				return delta{}, false
			}
		case "index":
			bit = hasIndex
			d.index = s.Int()
		case "delta":
			bit = hasDelta
			if d.kind, d.text, ok = scanInner(&s); !ok {
				return delta{}, false
			}
		}
		if bit == 0 || seen&bit != 0 { // an unknown member, or a duplicate
			return delta{}, false
		}
		seen |= bit
		if s.Is(',') {
			continue
		}
		s.Want('}')
		s.End()
		return d, s.OK() && seen == hasType|hasIndex|hasDelta
	}
	return delta{}, false
}

// scanStop decodes the events that end each block and each answer. It returns false for every other event and for JSON that it does not expect.
func scanStop(data []byte) (ev wireEvent, ok bool) {
	s := api.Scan(data)
	s.Want('{')
	typed, indexed := false, false
	for s.OK() {
		key := s.Word()
		s.Want(':')
		switch {
		case string(key) == "type" && !typed:
			typed = true
			switch string(s.Word()) {
			case "content_block_stop":
				ev.Type = "content_block_stop"
			case "message_stop":
				ev.Type = "message_stop"
			default:
				return wireEvent{}, false
			}
		case string(key) == "index" && !indexed:
			indexed = true
			ev.Index = s.Int()
		default:
			return wireEvent{}, false
		}
		if s.Is(',') {
			continue
		}
		s.Want('}')
		s.End()
		return ev, s.OK() && typed
	}
	return wireEvent{}, false
}

// scanInner reads {"type":"text_delta","text":"..."} and the like. The API writes the type first, but other servers need not.
func scanInner(s *api.Scanner) (kind deltaKind, text string, ok bool) {
	const typed, said = 1, 2
	var member deltaKind // the kind that the text's member belongs to
	s.Want('{')
	for seen := 0; s.OK(); {
		bit := said
		key := s.Word()
		s.Want(':')
		switch string(key) {
		case "type":
			bit = typed
			kind = scannedKind(s.Word())
		case "text":
			member, text = textDelta, s.Text()
		case "thinking":
			member, text = thinkingDelta, s.Text()
		case "partial_json":
			member, text = inputDelta, s.Text()
		default:
			return 0, "", false
		}
		if seen&bit != 0 {
			return 0, "", false
		}
		seen |= bit
		if s.Is(',') {
			continue
		}
		s.Want('}')
		return kind, text, s.OK() && seen == typed|said && kind == member
	}
	return 0, "", false
}

// scannedKind returns the kind of a delta's type, otherDelta for those that do not come by the thousand.
func scannedKind(word []byte) deltaKind {
	switch string(word) {
	case "text_delta":
		return textDelta
	case "thinking_delta":
		return thinkingDelta
	case "input_json_delta":
		return inputDelta
	}
	return otherDelta
}

// parseDelta decodes any content_block_delta, slowly. Unknown types are an otherDelta.
func parseDelta(ev *wireEvent) (delta, error) {
	var w wireDelta
	if err := json.Unmarshal(ev.Delta, &w); err != nil {
		return delta{}, err
	}
	d := delta{index: ev.Index}
	switch w.Type {
	case "text_delta":
		d.kind, d.text = textDelta, w.Text
	case "thinking_delta":
		d.kind, d.text = thinkingDelta, w.Thinking
	case "signature_delta":
		d.kind, d.text = signatureDelta, w.Signature
	case "input_json_delta":
		d.kind, d.text = inputDelta, w.PartialJSON
	}
	return d, nil
}
