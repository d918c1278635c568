package web_test

import (
	"encoding/json"
	"testing"

	"github.com/attractor-go/attractor/web"
)

func TestN5_Story(t *testing.T) {
	w := newWorkshop(t)
	log := w.story()
	trace := web.NewTrace(nil)
	for line, err := range log.Records(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := trace.Add(line); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range trace.Rows(0, 1000) {
		b, _ := json.Marshal(r)
		t.Logf("%s", b)
	}
	b, _ := json.MarshalIndent(trace.Overview(1), "", " ")
	t.Logf("%s", b)
}
