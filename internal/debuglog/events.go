package debuglog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// An event of a stream, as it stands in the log.
type event struct {
	MS    float64 `json:"ms"` // since the request
	Event string  `json:"event,omitempty"`
	Data  any     `json:"data,omitempty"` // JSON, or a text
	Other string  `json:"other,omitempty"`
}

// streamed returns the events of a response without secrets, also without those of which each event
// has only a piece. A response that has not ended by itself can end in the beginning of one, which
// is left out.
func (t *transport) streamed(data []byte, reads []arrival, ended bool) []event {
	events := make([]event, 0, 16)
	trees := make([]any, 0, 16) // of the data of each event, nil if they are no JSON
	var payload, other []string
	var e event
	offset := 0
	for line := range bytes.Lines(append(data[:len(data):len(data)], "\n\n"...)) { // which end the last event
		offset += len(line)
		name, value, _ := strings.Cut(strings.TrimRight(string(line), "\r\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case name == "data":
			payload = append(payload, value)
			continue
		case name == "event":
			e.Event = shortText(t.masker.String(value), maxHeader)
			continue
		case name+value != "":
			other = append(other, strings.TrimRight(string(line), "\r\n"))
			continue
		case e.Event == "" && payload == nil && other == nil:
			continue
		}
		for len(reads) > 1 && reads[0].bytes < offset {
			reads = reads[1:]
		}
		if len(reads) > 0 {
			e.MS = millis(reads[0].after)
		}
		e.Other = shortText(t.masker.String(strings.Join(other, "\n")), maxText)
		var tree any
		e.Data, tree = t.payload(strings.Join(payload, "\n"), ended || offset < len(data))
		events, trees = append(events, e), append(trees, tree)
		e, payload, other = event{}, nil, nil
	}
	t.maskPieces(events, trees, ended)
	return events
}

// payload returns the data of an event without secrets, and as a tree if they are JSON.
func (t *transport) payload(text string, whole bool) (data, tree any) {
	tree = decode(text)
	switch {
	case text == "":
		return nil, nil
	case tree != nil:
		return t.json([]byte(text)), tree
	case !whole:
		return shortText(t.masker.Stream().Next(text), maxText), nil
	}
	return shortText(t.masker.String(text), maxText), nil
}

// decode returns a JSON value as a tree of maps, slices and strings, nil if the text is no JSON.
func decode(text string) any {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var tree any
	if d.Decode(&tree) != nil {
		return nil
	}
	if _, err := d.Token(); err != io.EOF {
		return nil
	}
	return tree
}

// A piece is a string in the data of an event that continues strings of earlier events.
type piece struct {
	event int
	text  string
	set   func(string)
}

// maskPieces masks secrets that are spread over several events. Of strings that have one together,
// or end with the beginning of one, the first gets the whole masked text.
func (t *transport) maskPieces(events []event, trees []any, ended bool) {
	runs := map[string][]piece{}
	for i, tree := range trees {
		walk(tree, "", func(place, text string, set func(string)) {
			runs[place] = append(runs[place], piece{i, text, set})
		})
	}
	changed := map[int]bool{}
	for _, pieces := range runs {
		if (len(pieces) > 1 || !ended) && t.maskRun(pieces, ended) {
			for _, p := range pieces {
				changed[p.event] = true
			}
		}
	}
	for i := range changed {
		data, err := json.Marshal(trees[i])
		if err != nil { // cannot happen: it was JSON
			data = []byte("null")
		}
		events[i].Data = t.json(data)
	}
}

// leastHeld is how many bytes at the end of a text that may begin a secret are left out. Fewer say
// nothing about it.
const leastHeld = 4

// maskRun masks strings that continue each other, and reports whether there is a secret that none
// of them has alone, or the beginning of one at the end of what has not ended.
func (t *transport) maskRun(pieces []piece, ended bool) bool {
	whole, alone := make([]byte, 0, 1024), make([]byte, 0, 1024)
	for _, p := range pieces {
		whole = append(whole, p.text...)
		alone = append(alone, t.masker.String(p.text)...)
	}
	s := t.masker.Stream()
	masked := s.Next(string(whole))
	if ended || len(s.Held()) < leastHeld {
		masked += s.Flush()
	}
	if masked == string(alone) {
		return false
	}
	pieces[0].set(masked)
	for _, p := range pieces[1:] {
		p.set("")
	}
	return true
}

// walk calls visit for each string in a tree, with its place. Strings of one place in several
// events are pieces of one text: the place has the numbers and ids by which vendors tell the parts
// of an answer apart.
func walk(tree any, place string, visit func(place, text string, set func(string))) {
	switch v := tree.(type) {
	case map[string]any:
		for _, name := range []string{"index", "output_index", "content_index", "summary_index", "item_id"} {
			if id, ok := v[name]; ok {
				place += fmt.Sprintf("{%s=%v}", name, id)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if text, ok := v[name].(string); ok {
				visit(place+"."+name, text, func(s string) { v[name] = s })
				continue
			}
			walk(v[name], place+"."+name, visit)
		}
	case []any:
		for i := range v {
			at := fmt.Sprintf("%s[%d]", place, i)
			if text, ok := v[i].(string); ok {
				visit(at, text, func(s string) { v[i] = s })
				continue
			}
			walk(v[i], at, visit)
		}
	}
}
