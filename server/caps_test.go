package server_test

import (
	"fmt"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/server"
)

// The rounds and turns that the server chooses are the most that a session can set.
func TestW1_RoundsAndTurnsAreCapped(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, func(r *fakellm.Request) fakellm.Turn {
		return say("", write(fmt.Sprintf("%d.txt", r.Turn()), "x\n"))
	})
	c := w.start(full, func(o *server.Options) {
		o.Config.Set("max_rounds", "--max-rounds", "2")
		o.Config.Set("max_turns", "--max-turns", "9")
	}).as(ciToken)
	id := c.create(object{})
	for _, line := range []string{`"max_rounds":0`, `"max_rounds":3`, `"max_turns":0`, `"max_turns":10`} {
		c.refused(403, "forbidden", "POST", "/v1/sessions/"+id+"/lines", `{"type":"set",`+line+`}`)
	}
	c.line(id, object{"type": "set", "max_rounds": 2, "max_turns": 8})
	events := c.watch("/v1/sessions/" + id + "/events")
	c.line(id, object{"type": "user", "text": "go"})
	end := events.until("PROCESSING_END")
	if last := end[len(end)-1].data; last["reason"] != "max_tool_rounds" || last["tool_rounds"] != 2.0 {
		t.Errorf("the end: %v", last)
	}
}
