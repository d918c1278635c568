package endless

import (
	"fmt"
	"net/http"
	"strings"
)

// Answer says what the model repeats.
type Answer struct {
	// Kind says what comes without end: Text, Thinking, Arguments, or Line for a single event.
	Kind Kind
	// Delta is the JSON of each piece without its quotes. It must be valid inside a JSON string.
	Delta string
}

// Kind is a kind of content.
type Kind string

// The kinds of content.
const (
	Text      Kind = "text"
	Thinking  Kind = "thinking"
	Arguments Kind = "arguments"
	Line      Kind = "line" // the deltas are one text in one event
)

// ServeHTTP answers in the format of the request's path, until the client leaves.
func (a Answer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	start, before, after := a.frames(r.URL.Path)
	_, err := fmt.Fprint(w, start)
	if a.Kind == Line {
		_, err = fmt.Fprint(w, before)
		for err == nil {
			_, err = fmt.Fprint(w, a.Delta)
		}
		return
	}
	piece := []byte(before + a.Delta + after)
	for err == nil {
		_, err = w.Write(piece)
	}
}

// frames returns the beginning of the stream, and what stands before and after the text of a delta.
func (a Answer) frames(path string) (start, before, after string) {
	switch {
	case strings.HasSuffix(path, "/messages"):
		return a.anthropic()
	case strings.HasSuffix(path, "/responses"):
		return a.openai()
	case strings.HasSuffix(path, "/chat/completions"):
		return a.chat()
	}
	return a.gemini()
}

func (a Answer) anthropic() (start, before, after string) {
	block, delta := `{"type":"text","text":""}`, `{"type":"text_delta","text":"`
	switch a.Kind {
	case Thinking:
		block, delta = `{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"`
	case Arguments:
		block, delta = `{"type":"tool_use","id":"c1","name":"shell","input":{}}`,
			`{"type":"input_json_delta","partial_json":"`
	}
	start = event("message_start",
		`{"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"m","content":[],`+
			`"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}`) +
		event("content_block_start", `{"type":"content_block_start","index":0,"content_block":`+block+`}`)
	return start, "event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":0,"delta":` + delta,
		`"}}` + "\n\n"
}

func (a Answer) openai() (start, before, after string) {
	item, delta := `{"type":"message","id":"i1","role":"assistant","status":"in_progress","content":[]}`,
		"response.output_text.delta"
	place := `"output_index":0,"content_index":0`
	switch a.Kind {
	case Thinking:
		item, delta = `{"type":"reasoning","id":"i1","summary":[]}`, "response.reasoning_summary_text.delta"
		place = `"output_index":0,"summary_index":0`
	case Arguments:
		item, delta = `{"type":"function_call","id":"i1","call_id":"c1","name":"shell","arguments":""}`,
			"response.function_call_arguments.delta"
		place = `"output_index":0`
	}
	start = event("response.created",
		`{"type":"response.created","response":{"object":"response","id":"r1","model":"m","status":"in_progress","output":[]}}`) +
		event("response.output_item.added", `{"type":"response.output_item.added","output_index":0,"item":`+item+`}`)
	return start, "event: " + delta + "\ndata: " + `{"type":"` + delta + `",` + place + `,"item_id":"i1","delta":"`,
		`"}` + "\n\n"
}

func (a Answer) chat() (start, before, after string) {
	const head = `data: {"id":"r1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":`
	const tail = `,"finish_reason":null}]}` + "\n\n"
	switch a.Kind {
	case Thinking:
		return head + `{"role":"assistant","content":null}` + tail, head + `{"reasoning_content":"`, `"}` + tail
	case Arguments:
		return head + `{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"shell","arguments":""}}]}` + tail,
			head + `{"tool_calls":[{"index":0,"function":{"arguments":"`, `"}}]}` + tail
	}
	return head + `{"role":"assistant","content":""}` + tail, head + `{"content":"`, `"}` + tail
}

// gemini has no arguments that come in pieces: its calls repeat without end.
func (a Answer) gemini() (start, before, after string) {
	const head = `data: {"candidates":[{"content":{"role":"model","parts":[`
	const tail = `]},"index":0}],"modelVersion":"m","responseId":"r1"}` + "\n\n"
	switch a.Kind {
	case Thinking:
		return "", head + `{"thought":true,"text":"`, `"}` + tail
	case Arguments:
		return "", head + `{"functionCall":{"name":"shell","args":{"command":"`, `"}}}` + tail
	}
	return "", head + `{"text":"`, `"}` + tail
}

func event(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }
