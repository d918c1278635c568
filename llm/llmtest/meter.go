package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Meter checks that what was sent to a model stays as it was sent, request after request: the system prompt and the tools byte for
// byte, and the messages of a request as a prefix of the next one's. It stands before a model server and reads the bodies that
// really arrive, in any of the formats of package fakellm. Cache marks and the parameters around the messages may change. It is
// made for one conversation at a time and safe for concurrent use.
type Meter struct {
	next http.Handler

	mu     sync.Mutex
	last   *sent
	count  int
	breaks []string
}

// NewMeter puts a meter before a server.
func NewMeter(next http.Handler) *Meter { return &Meter{next: next} }

// Requests is how many requests were metered; those that were sent again after a failure count each time.
func (m *Meter) Requests() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}

// Breaks describes every request that did not go on where the one before ended. Each is a new epoch: to be expected after a change
// of model or tools or a compaction, and a defect otherwise.
func (m *Meter) Breaks() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.breaks...)
}

// ServeHTTP implements [http.Handler].
func (m *Meter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if err == nil {
		m.measure(body)
	}
	m.next.ServeHTTP(w, r)
}

// sent is the part of a body that must stay.
type sent struct {
	head     string // system prompt and tools
	messages string // without the brackets at the end, which move
}

func (m *Meter) measure(body []byte) {
	now, err := readSent(body)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count++
	switch {
	case err != nil:
		m.breaks = append(m.breaks, fmt.Sprintf("request %d: %v", m.count, err))
		return
	case m.last == nil:
	case now.head != m.last.head:
		m.breaks = append(m.breaks, fmt.Sprintf("request %d: system prompt or tools differ: %s", m.count, difference(m.last.head, now.head)))
	case !strings.HasPrefix(now.messages, m.last.messages):
		m.breaks = append(m.breaks, fmt.Sprintf("request %d: messages differ: %s", m.count, difference(m.last.messages, now.messages)))
	}
	m.last = now
}

// marks are the cache marks of the formats, as their providers write them.
var marks = strings.NewReplacer(`,"cache_control":{"type":"ephemeral"}`, "")

func readSent(body []byte) (*sent, error) {
	var parts struct {
		System            json.RawMessage `json:"system"`
		Instructions      json.RawMessage `json:"instructions"`
		SystemInstruction json.RawMessage `json:"systemInstruction"`
		Tools             json.RawMessage `json:"tools"`
		Messages          json.RawMessage `json:"messages"`
		Input             json.RawMessage `json:"input"`
		Contents          json.RawMessage `json:"contents"`
	}
	if err := json.Unmarshal(body, &parts); err != nil {
		return nil, fmt.Errorf("the body is no JSON: %w", err)
	}
	head := fmt.Sprintf("%s\n%s\n%s\n%s", parts.System, parts.Instructions, parts.SystemInstruction, parts.Tools)
	messages := string(parts.Messages) + string(parts.Input) + string(parts.Contents)
	return &sent{head: marks.Replace(head), messages: strings.TrimRight(marks.Replace(messages), "]} \n")}, nil
}

// difference shows where two texts part.
func difference(a, b string) string {
	const around = 60
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	from := max(0, i-around)
	return fmt.Sprintf("at byte %d: %q became %q", i, a[from:min(len(a), i+around)], b[from:min(len(b), i+around)])
}
