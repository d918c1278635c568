package command

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/render"
)

// An answer is shown once, however much of it has come live before its fact. What came live and was
// no part of it is said not to count.
func TestP2_AnswersAreShownOnce(t *testing.T) {
	for _, test := range []struct {
		live  []string
		wants string
	}{
		{nil, "the whole answer"},
		{[]string{"the ", "whole answer"}, "the whole answer"},
		{[]string{"the whole"}, "the whole answer"},
		{[]string{"the ", "answer"},
			"the answer\n↻ the answer broke off; what is above does not count\nthe whole answer"},
	} {
		var out strings.Builder
		s := &screen{out: &out, session: render.NewSession(render.Style{}), live: map[int]string{}}
		show := func(n int64, ev agent.Event) {
			data, err := json.Marshal(ev)
			if err == nil {
				err = s.update(fleet.Update{N: n, Event: data})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		delta := func(text string) agent.Event {
			return &agent.AssistantTextDelta{EventHeader: agent.EventHeader{Kind: agent.KindAssistantTextDelta},
				Text: text}
		}
		for _, piece := range test.live {
			show(0, delta(piece))
		}
		show(1, delta("the whole answer"))
		if out.String() != test.wants {
			t.Errorf("%q: %q, not %q", test.live, &out, test.wants)
		}
	}
}
