package web_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/web"
)

// FuzzN5_Trace checks that a trace takes the lines of any journal: its parts add up, and each row
// has an item.
func FuzzN5_Trace(f *testing.F) {
	content, err := os.ReadFile(filepath.Join("..", "agent", "testdata", "journals", "version1.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	lines := strings.SplitAfter(string(content), "\n")
	lines[0] = `{"n":1,"k":"header","d":{"version":3,"id":"every","provider":"test","model":"m","tools":[]}}` + "\n"
	f.Add(strings.Join(lines[:12], ""))
	f.Add(strings.Join(lines, ""))
	f.Add(lines[0] + `{"n":2,"t":"2026-01-01T00:00:00Z","k":"input","d":{"seq":1,"text":"\u0000\n"}}` + "\n" +
		`{"n":3,"t":"2025-01-01T00:00:00Z","k":"end","d":{"seq":3,"reason":"completed"}}` + "\n")
	f.Fuzz(func(t *testing.T, content string) {
		var records []journal.Record
		for line := range strings.Lines(content) {
			var r journal.Record
			if json.Unmarshal([]byte(line), &r) == nil {
				records = append(records, r)
			}
		}
		log := journal.NewMemory(records...)
		trace := web.NewTrace(secret.New(), nil)
		for line := range log.Records(t.Context(), 1) {
			if _, _, err := trace.Add(line); err != nil {
				break
			}
		}
		o := trace.Overview(1)
		if at := o.Time; at.Total != at.Model+at.Tools+at.Waiting+at.Idle || min(at.Model, at.Tools, at.Waiting,
			at.Idle) < 0 {
			t.Errorf("the parts of %+v do not add up", at)
		}
		for i, r := range trace.Rows(0, o.Rows) {
			if r.Index != i || len(r.Text) > 240 || strings.Contains(r.Text, "\n") {
				t.Errorf("row %d is %+v", i, r)
			}
			if _, err := trace.Item(i); err != nil {
				t.Error(err)
			}
		}
		if _, err := trace.Search(t.Context(), "a"); err != nil {
			t.Error(err)
		}
	})
}
