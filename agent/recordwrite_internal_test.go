package agent

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// everyRounds holds records as nearly every round has them, with every field set that is written in the fast way.
func everyRounds() []record {
	text := llm.Text{Text: "<é>\u2028\n\xff", Signature: "s"}
	call := llm.ToolCall{ID: "1", Name: "n", Args: `{"a":"\n"}`, Free: true, Signature: "s"}
	access := &tool.Access{Effect: tool.Writes, Paths: []string{"/a", "/b"}, Command: "ls\t", Hosts: []string{"h:1"}}
	return []record{
		answerRecord{Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{text, call}, Provider: "p", Model: "m"}, Usage: llm.Usage{Input: 1, CacheRead: 2, CacheWrite: 3, Output: 4, Reasoning: 5},
			Finish: llm.Finish{Reason: llm.FinishStop, Raw: "end"}, ResponseID: "r", Latency: time.Second, Shown: shown{Step: 1, Texts: [][2]int64{{3, 4}, {5, 6}}}},
		answerRecord{Message: llm.Message{Parts: llm.Parts{}}},
		intentRecord{Calls: []llm.ToolCall{call, {ID: "2"}}}, intentRecord{Calls: []llm.ToolCall{}},
		resultRecord{CallID: "1", Name: "n", Args: "{}", Access: access, Content: llm.Parts{text, text}, IsError: true, Done: true, Final: "f", OutputRef: "o", Asked: "q", Bytes: 1 << 40,
			Truncated: true, Duration: -1, Start: 9},
		resultRecord{Content: llm.Parts{}, Access: &tool.Access{}},
	}
}

// rarely holds records with one member each that encoding/json writes.
func rarely() []record {
	epoch := 3
	return []record{
		answerRecord{Message: llm.Message{Parts: llm.Parts{}}, modelCallEpoch: modelCallEpoch{Epoch: &epoch}}, answerRecord{Message: llm.Message{Parts: llm.Parts{}}, Cost: 0.25},
		answerRecord{Message: llm.Message{Parts: llm.Parts{}}, Shown: shown{Thoughts: []int64{2}}}, answerRecord{Message: llm.Message{Parts: llm.Parts{llm.Thinking{Text: "t"}}}},
		resultRecord{Content: llm.Parts{}, Access: &tool.Access{Guarded: []tool.Guarded{{Path: "/p"}}}}, resultRecord{Content: llm.Parts{}, Kept: &keptOutput{Hash: "h"}},
		resultRecord{Content: llm.Parts{}, Answers: []exchange{{Question: "q"}}}, resultRecord{Content: llm.Parts{}, Seen: []tool.Seen{{Path: "/a"}}},
		resultRecord{Content: llm.Parts{}, Changes: []tool.Change{{Path: "/a"}}}, resultRecord{Content: llm.Parts{}, Ran: &tool.Ran{}}, resultRecord{Content: llm.Parts{}, Structured: []byte("{}")},
	}
}

// plainly returns the JSON that encoding/json makes of a record.
func plainly(t testing.TB, rec record) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := appendPlainly(&b, rec); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// FuzzK5_WrittenRecord checks that the fast way of encoding a record gives what encoding/json gives.
func FuzzK5_WrittenRecord(f *testing.F) {
	for _, rec := range slices.Concat(everyRounds(), rarely(), frequent()) {
		f.Add(rec.kind(), plainly(f, rec)) // encodeRecord would leave out what writeRecord forgets
	}
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		decode := decoderOf(kind)
		if decode == nil {
			return
		}
		rec, err := decode(body)
		if err != nil {
			return
		}
		if got, ok := writeRecord(nil, rec); ok && !bytes.Equal(got, plainly(t, rec)) {
			t.Fatalf("%+v is written as %s, want %s", rec, got, plainly(t, rec))
		}
	})
}

// The records of most rounds are written in the fast way, and those with long texts are not, because that would copy them more often.
func TestK5_RecordsAreWritten(t *testing.T) {
	for _, rec := range everyRounds() {
		if got, ok := writeRecord([]byte("x"), rec); !ok || string(got) != "x"+string(plainly(t, rec)) {
			t.Errorf("%+v is written as %s, %t, want %s", rec, got, ok, plainly(t, rec))
		}
	}
	for _, rec := range append(rarely(), frequent()[:3]...) { // the latter have lists that are null
		if got, ok := writeRecord(nil, rec); ok {
			t.Errorf("%+v is written as %s", rec, got)
		}
	}
	if _, ok := writeRecord(nil, resultRecord{Content: llm.TextParts(strings.Repeat("x", mostEncoding+1))}); ok {
		t.Error("a long text is written")
	}
}
