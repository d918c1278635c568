package providertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
)

// Encoding describes how a provider encodes requests, for tests that encoded conversations are only
// appended to, so that caches hit. Several tests may use its methods at the same time, if Encode
// allows it.
type Encoding struct {
	// Encode returns the body of a request, in pieces.
	Encode func(req *llm.Request) ([][]byte, error)
	// End is the JSON with which a body's conversation ends and its parameters begin. The next
	// request must begin with everything before its last occurrence.
	End string
	// Open is the JSON directly before End that the next request may insert something before, such
	// as the end of a message that continues. Empty means none.
	Open string
	// Mark is the JSON of a cache mark, which may move. Empty means none.
	Mark string
}

// Failer is the part of a test that the checks need: a testing.TB, or the rapid.T of one draw.
type Failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Body returns a request's body, and the prefix of it that the next request must begin with.
func (e Encoding) Body(t Failer, req *llm.Request) (body, prefix string) {
	t.Helper()
	segments, err := e.Encode(req)
	if err != nil {
		t.Fatalf("%v", err)
	}
	body = string(bytes.Join(segments, nil))
	if !json.Valid([]byte(body)) {
		t.Fatalf("no JSON: %s", body)
	}
	at := strings.LastIndex(body, e.End)
	if at < 0 {
		t.Fatalf("no parameters: %s", body)
	}
	prefix = body[:at]
	if e.Mark != "" {
		prefix = strings.ReplaceAll(prefix, e.Mark, "")
	}
	return body, strings.TrimSuffix(prefix, e.Open)
}

// Prefixes encodes a conversation that grows by one round with each request. It checks that request
// n is a byte prefix of request n+1, with and without a memo, and that bytes returned for an
// earlier request never change. The request holds what all requests have in common. Prefixes
// returns the bodies.
func (e Encoding) Prefixes(t Failer, req llm.Request, rounds [][]llm.Message) (bodies []string) {
	t.Helper()
	memo := new(llm.Memo)
	var before string
	var sent [][][]byte
	for _, round := range rounds {
		req.Messages = append(req.Messages, round...)
		req.Memo = memo
		body, prefix := e.Body(t, &req)
		if !strings.HasPrefix(prefix, before) {
			t.Fatalf("not a prefix:\n%s\n%s", before, prefix)
		}
		before = prefix
		segments, err := e.Encode(&req)
		if err != nil {
			t.Fatalf("%v", err)
		}
		sent, bodies = append(sent, segments), append(bodies, body)
		req.Memo = nil
		if fresh, _ := e.Body(t, &req); fresh != body {
			t.Fatalf("with the memo %s\nwithout it   %s", body, fresh)
		}
	}
	for i := range sent {
		if string(bytes.Join(sent[i], nil)) != bodies[i] {
			t.Fatalf("request %d changed after it was sent", i)
		}
	}
	return bodies
}

// StartsAfresh checks that a memo is not used for requests that it was not made from: for other
// messages, for other tools, even if the caller changes its list in place, and for a request that
// cannot be encoded because of the unsupported part. The tool is the JSON with which a body's first
// tool begins, up to its name.
func (e Encoding) StartsAfresh(t *testing.T, req llm.Request, tool string, unsupported llm.Part) {
	t.Helper()
	req.Memo = new(llm.Memo)
	tools := []llm.ToolDefinition{{Name: "a", Parameters: json.RawMessage(`{"type":"object"}`)}}
	req.Tools = tools
	req.Messages = []llm.Message{llm.System("a"), llm.User("one"), llm.Assistant("two"), llm.User("three")}
	e.Body(t, &req)
	edited := []llm.Message{llm.User("summary"), req.Messages[3]}
	req.Messages = edited
	if body, _ := e.Body(t, &req); strings.Contains(body, "one") || !strings.Contains(body, "summary") {
		t.Errorf("other messages: %s", body)
	}
	for _, name := range []string{"a", "b", "a"} {
		tools[0].Name = name
		if body, _ := e.Body(t, &req); !strings.Contains(body, tool+`"`+name+`"`) {
			t.Errorf("tool %s: %s", name, body)
		}
	}
	req.Messages = append(edited[:2:2], llm.User("x", unsupported))
	if _, err := e.Encode(&req); !errors.Is(err, llm.ErrUnsupported) {
		t.Errorf("%+v was encoded: %v", unsupported, err)
	}
	req.Messages = edited
	got, _ := e.Body(t, &req)
	req.Memo = nil
	if want, _ := e.Body(t, &req); got != want {
		t.Errorf("after an error: %s, want %s", got, want)
	}
}
