package anthropic

import "encoding/json"

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

// parseDelta decodes any content_block_delta. Unknown types are an otherDelta.
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
