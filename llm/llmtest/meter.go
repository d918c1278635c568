package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Meter checks that what was sent to a model does not change from request to request: the system
// prompt and the tools stay the same byte for byte, and the messages of a request are a prefix of
// the next one's. It stands before a model server and reads the bodies that arrive, in any of the
// formats of package fakellm. Cache marks and the parameters around the messages may change. A
// Meter is for one conversation at a time and is safe for concurrent use.
type Meter struct {
	next http.Handler

	mu     sync.Mutex
	last   *sent
	count  int
	breaks []string
}

// NewMeter returns a meter that passes requests on to a server.
func NewMeter(next http.Handler) *Meter { return &Meter{next: next} }

// Requests returns the number of requests, counting each attempt.
func (m *Meter) Requests() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}

// Breaks describes every request that did not continue the one before. Each begins a new epoch,
// which is expected after a compaction or a change of model or tools, and otherwise a defect.
func (m *Meter) Breaks() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.breaks)
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

// sent holds the part of a body that must not change.
type sent struct {
	head     string // system prompt and tools
	messages string // without the brackets at the end, before which later messages are added
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
		m.breaks = append(m.breaks, fmt.Sprintf("request %d: system prompt or tools differ: %s", m.count,
			difference(m.last.head, now.head)))
	case !strings.HasPrefix(now.messages, m.last.messages):
		m.breaks = append(m.breaks, fmt.Sprintf("request %d: messages differ: %s", m.count,
			difference(m.last.messages, now.messages)))
	}
	m.last = now
}

// marks removes the formats' cache marks, as their providers write them.
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

// difference describes the place where two texts differ.
func difference(a, b string) string {
	const around = 60
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	from := max(0, i-around)
	return fmt.Sprintf("at byte %d: %q became %q", i, a[from:min(len(a), i+around)], b[from:min(len(b), i+around)])
}
