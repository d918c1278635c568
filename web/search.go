package web

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/agent"
)

// Search returns the numbers of all rows that have a text, ignoring case, in their texts,
// arguments, outputs and diffs, in order. When ctx ends, Search returns what it has found with the
// error.
func (t *Trace) Search(ctx context.Context, text string) (found []int, err error) {
	t.mu.RLock()
	rows := slices.Clip(t.events)
	t.mu.RUnlock()
	word := strings.ToLower(text)
	hasWord := func(ev agent.Event) bool {
		return slices.ContainsFunc(textsOf(ev), func(text string) bool {
			return strings.Contains(strings.ToLower(text), word)
		})
	}
	for i, events := range rows {
		if err := ctx.Err(); err != nil {
			return found, err
		}
		if slices.ContainsFunc(events, hasWord) {
			found = append(found, i)
		}
	}
	return found, nil
}

// textsOf returns the texts of an event that a person may look for.
func textsOf(ev agent.Event) (list []string) {
	add := func(raw json.RawMessage) { list = slices.AppendSeq(list, stringsOf(raw)) }
	switch e := ev.(type) {
	case *agent.UserInput:
		list = append(list, e.Text)
	case *agent.AssistantTextEnd:
		list = append(list, e.Text)
		for _, s := range e.Sources {
			list = append(list, s.URL, s.Title)
		}
	case *agent.ThinkingDelta:
		list = append(list, e.Text)
	case *agent.ToolCallStart:
		list = append(list, e.Name)
		add(e.Arguments)
		add(e.Effective)
	case *agent.ToolCallEnd:
		list = append(list, e.Output)
		for _, c := range e.Changes {
			list = append(list, c.Path, c.From, c.Diff)
		}
		add(e.Structured)
	case *agent.StepEnd:
	default:
		if raw, err := json.Marshal(ev); err == nil {
			add(raw)
		}
	}
	return list
}
