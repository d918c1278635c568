package examples_test

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

func TestQ2_Owncommand(t *testing.T) {
	t.Parallel()
	example(t, "owncommand", nil, func(r *fakellm.Request) fakellm.Turn {
		switch {
		case r.Turn() == 0:
			return fakellm.Turn{Calls: []fakellm.Call{{Name: "office_hours", Args: []byte(`{"weekday":"Monday"}`)}}}
		case strings.Contains(toolResults(r)[0].Content.Text(), "9 to 17"):
			return fakellm.Turn{Text: "Yes, until five."}
		}
		return fakellm.Turn{Text: "There is no such tool."}
	}, "run", "--yes", "Is the office open?")
}
