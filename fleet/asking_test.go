package fleet

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// TestP4_AsksFitIntoAMessage has calls with long arguments: an ask that no engine takes would never
// be answered.
func TestP4_AsksFitIntoAMessage(t *testing.T) {
	t.Parallel()
	const message = 1<<20 - 1024
	for _, args := range []string{strings.Repeat("\x01", 2<<20), `"` + strings.Repeat("<", 2<<20) + `"`,
		`"` + strings.Repeat("<", mostAsk-2) + `"`} {
		req := tool.Request{Call: llm.ToolCall{Name: "shell", Args: args}}
		req.Access.Command = args
		data, err := json.Marshal(Ask{Args: argsOf(req.Call.Args), Text: approvalText(req)})
		if err != nil || len(data) > message {
			t.Errorf("an ask about %d bytes has %d: %v", len(args), len(data), err)
		}
		if cut := strings.Contains(string(data), "the session's journal has the whole text"); !cut {
			t.Errorf("an ask about %d bytes does not say that it was cut", len(args))
		}
	}
	if got := string(argsOf(`{"a":1}`)); got != `{"a":1}` {
		t.Errorf("short arguments are %s", got)
	}
}
