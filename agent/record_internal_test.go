package agent

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// encodedPlainly is encodeRecord without a shared buffer.
func encodedPlainly(t *testing.T, rec record, at place) string {
	t.Helper()
	first, err := marshal(at)
	if err != nil {
		t.Fatal(err)
	}
	body, err := marshal(rec)
	if err != nil {
		t.Fatal(err)
	}
	if string(body) == "{}" {
		return string(first)
	}
	return string(first[:len(first)-1]) + "," + string(body[1:])
}

// What encodeRecord has returned does not change with the next records, whatever their size.
func TestK8_EncodedRecordsStay(t *testing.T) {
	records := []record{inputRecord{Text: "<go> & \u2028"}, endRecord{Reason: ReasonDone}, turnRecord{}, stopRecord{},
		spentRecord{}, awaitRecord{},
		noteRecord{Note: "n", Data: json.RawMessage(`{"a":1}`)}, inputRecord{Text: string(make([]byte, 128<<10))},
		inputRecord{}}
	var got [][]byte
	var want []string
	for i, rec := range append(records, records...) {
		at := place{Seq: int64(i), Resumed: int64(i % 2)}
		body, err := encodeRecord(rec, at)
		if err != nil {
			t.Fatal(err)
		}
		got, want = append(got, body), append(want, encodedPlainly(t, rec, at))
	}
	for i := range got {
		if string(got[i]) != want[i] {
			t.Errorf("%.100s, want %.100s", got[i], want[i])
		}
	}
}

// frequent holds records of the kinds that every round has, with every field set.
func frequent() []record {
	epoch := 3
	parts := llm.Parts{llm.Text{Text: "<é>\u2028\n", Signature: "s"}, llm.Thinking{Text: "t", ID: "i"},
		llm.Media{MIME: "image/png", Data: []byte{0, 1}}}
	access := &tool.Access{Effect: tool.ReadOnly, Paths: []string{"/a", "/b"}, Command: "ls\t", Hosts: []string{"h:1"},
		Guarded: []tool.Guarded{{Path: "/p", Why: "w"}}}
	call := llm.ToolCall{ID: "1", Name: "n", Args: `{"a":"\n"}`, Free: true, Signature: "s"}
	return []record{
		answerRecord{}, resultRecord{}, intentRecord{},
		answerRecord{modelCallEpoch: modelCallEpoch{Epoch: &epoch}, Message: llm.Message{Role: llm.RoleAssistant,
			Parts: append(parts, call), Provider: "p", Model: "m"},
			Usage:  llm.Usage{Input: 1, CacheRead: 2, CacheWrite: 3, Output: 4, Reasoning: 5},
			Finish: llm.Finish{Reason: llm.FinishStop, Raw: "end"}, ResponseID: "r",
			Latency: time.Second, Cost: 0.25, Shown: shown{Step: 1, Thoughts: []int64{2},
				Texts: [][2]int64{{3, 4}, {5, 6}}}},
		intentRecord{Calls: []llm.ToolCall{call, {ID: "2"}}},
		resultRecord{CallID: "1", Name: "n", Args: "{}", Access: access, Content: parts, IsError: true, Done: true,
			Final: "f", OutputRef: "o", Kept: &keptOutput{Hash: "h", Size: 7},
			Asked: "q", Answers: []exchange{{Question: "q"}}, Bytes: 1 << 40, Truncated: true,
			Seen: []tool.Seen{{Path: "/a", Hash: env.Hash("h")}}, Duration: -1, Start: 9,
			Changes: []tool.Change{{Kind: "create", Path: "/a"}}, Ran: &tool.Ran{},
			Structured: json.RawMessage(`{"a":[1]}`)},
	}
}

// Records that differ only in members that may differ are equal for a replay.
func TestK5_SameMembers(t *testing.T) {
	for _, rec := range frequent() {
		body, err := encodeRecord(rec, place{Seq: 17})
		other, err2 := encodeRecord(rec, place{Seq: 18, Resumed: 4})
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		a, b := journal.Record{Kind: rec.kind(), Data: body}, journal.Record{Kind: rec.kind(), Data: other}
		if !equal(a, b) {
			t.Errorf("%s and %s differ", body, other)
		}
		if b.Kind = "other"; equal(a, b) {
			t.Errorf("%s is the same in another kind", body)
		}
	}
	a, b := journal.Record{Kind: "turn", Data: json.RawMessage(`{"seq":1,"text":"a"}`)}, journal.Record{Kind: "turn",
		Data: json.RawMessage(`{"text":"a","seq":2}`)}
	if !equal(a, b) {
		t.Error("the order of members makes a difference")
	}
	if b.Data = json.RawMessage(`{"seq":1,"text":"b"}`); equal(a, b) {
		t.Error("another text makes no difference")
	}
}
