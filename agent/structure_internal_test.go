package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// The event log counts the size of every part of a result that can be long.
func TestJ4_StructureCountsInTheLog(t *testing.T) {
	const much = 1 << 20
	long := strings.Repeat("x", much)
	for name, e := range map[string]*ToolCallEnd{
		"a diff":         {Changes: []tool.Change{{Diff: long}}},
		"structured":     {Structured: json.RawMessage(long)},
		"media":          {Media: []llm.Media{{Data: []byte(long)}}},
		"left processes": {Ran: &tool.Ran{Exit: &env.Exit{Left: []string{long}}}},
		"an error":       {Ran: &tool.Ran{Err: long}},
	} {
		if n := sizeOfEvent(e); n < much {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
}
