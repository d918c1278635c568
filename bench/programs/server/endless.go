package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

// endless sends the beginning of an answer and then deltas until the client hangs up: of three
// words (kind small), or of a mebibyte (huge).
func endless(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	text := "three more words "
	if r.PathValue("kind") == "huge" {
		text = strings.Repeat(text, 1<<20/len(text))
	}
	before, each := openAnswer(r.URL.Path)
	if _, err := io.WriteString(w, before); err != nil {
		return
	}
	for n := 3; ; n++ { // Responses numbers its events
		if _, err := fmt.Fprintf(w, each, n, text); err != nil {
			return
		}
	}
}

// openAnswer returns the events that begin an answer, and a format of its deltas, which takes a
// number and a text.
func openAnswer(path string) (before, each string) {
	switch {
	case strings.HasSuffix(path, "/responses"):
		return `data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","created_at":1,"status":"in_progress","model":"m","output":[]}}

data: {"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}}

data: {"type":"response.content_part.added","sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}}

`, `data: {"type":"response.output_text.delta","sequence_number":%d,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"%s"}` + "\n\n"
	case strings.HasSuffix(path, "/chat/completions"):
		return "", `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":%d,"model":"m","choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":null}]}` + "\n\n"
	case strings.Contains(path, "/v1beta/"):
		return "", `data: {"responseId":"r%[1]d","candidates":[{"content":{"parts":[{"text":"%[2]s"}],"role":"model"},"index":0}],"modelVersion":"m"}` + "\n\n"
	}
	return begun + `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

`, `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%[2]s"}}` + "%.0[1]d\n\n"
}
