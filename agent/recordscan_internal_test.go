package agent

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// frequent holds records of the kinds that are scanned, with every field set.
func frequent() []record {
	epoch := 3
	parts := llm.Parts{llm.Text{Text: "<é>\u2028\n", Signature: "s"}, llm.Thinking{Text: "t", ID: "i"}, llm.Media{MIME: "image/png", Data: []byte{0, 1}}}
	access := &tool.Access{Effect: tool.ReadOnly, Paths: []string{"/a", "/b"}, Command: "ls\t", Hosts: []string{"h:1"}, Guarded: []tool.Guarded{{Path: "/p", Why: "w"}}}
	call := llm.ToolCall{ID: "1", Name: "n", Args: `{"a":"\n"}`, Free: true, Signature: "s"}
	return []record{
		answerRecord{}, resultRecord{}, intentRecord{},
		answerRecord{modelCallEpoch: modelCallEpoch{Epoch: &epoch}, Message: llm.Message{Role: llm.RoleAssistant, Parts: append(parts, call), Provider: "p", Model: "m"},
			Usage: llm.Usage{Input: 1, CacheRead: 2, CacheWrite: 3, Output: 4, Reasoning: 5}, Finish: llm.Finish{Reason: llm.FinishStop, Raw: "end"}, ResponseID: "r",
			Latency: time.Second, Cost: 0.25, Shown: shown{Step: 1, Thoughts: []int64{2}, Texts: [][2]int64{{3, 4}, {5, 6}}}},
		intentRecord{Calls: []llm.ToolCall{call, {ID: "2"}}},
		resultRecord{CallID: "1", Name: "n", Args: "{}", Access: access, Content: parts, IsError: true, Done: true, Final: "f", OutputRef: "o", Kept: &keptOutput{Hash: "h", Size: 7},
			Asked: "q", Answers: []exchange{{Question: "q"}}, Bytes: 1 << 40, Truncated: true, Seen: []tool.Seen{{Path: "/a", Hash: env.Hash("h")}}, Duration: -1, Start: 9,
			Changes: []tool.Change{{Kind: "create", Path: "/a"}}, Ran: &tool.Ran{}, Structured: json.RawMessage(`{"a":[1]}`)},
	}
}

// decodedSlowly returns what encoding/json makes of a body.
func decodedSlowly(kind string, body []byte) (record, place, error) {
	rec, err := decoderOf(kind)(body)
	return rec, placeOf(body), err
}

// FuzzK5_Record checks that the fast way of decoding a record gives what encoding/json gives, and gives nothing where that fails.
func FuzzK5_Record(f *testing.F) {
	for _, rec := range frequent() {
		body, err := encodeRecord(rec, place{Seq: 17, Resumed: 3})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(rec.kind(), body)
	}
	for _, body := range []string{`{}`, `{"seq":1,"seq":2}`, `{"seq":1,"SEQ":2,"call_id":"a"}`, `{"call_id":"a","seq":1}`, `{"seq":null}`, `{"seq":1,"content":null,"access":null}`, `{"seq":1,"access":{"effect":"unknown"}}`,
		`{"seq":1,"calls":null}`, `{"seq":1,"calls":[]}`, `{"seq":1,"shown":{"texts":[[1,2,3]]}}`, `{"seq":1,"shown":{"texts":[[1]]}}`, `{"seq":1,"message":{"role":"assistant","parts":[]},"usage":{"input":1.5}}`, `{"seq":1} `} {
		for _, kind := range []string{"answer", "intent", "result"} {
			f.Add(kind, []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		got, at, ok := scanRecord(kind, body)
		if !ok {
			return
		}
		want, place, err := decodedSlowly(kind, body)
		if err != nil {
			t.Fatalf("%s %q was read as %+v, and encoding/json says %v", kind, body, got, err)
		}
		if !reflect.DeepEqual(got, want) || at != place {
			t.Fatalf("%s %q was read as %+v at %+v, want %+v at %+v", kind, body, got, at, want, place)
		}
	})
}

// Whatever the session writes of the frequent kinds is decoded in the fast way, also what older programs wrote.
func TestK5_FrequentRecordsAreScanned(t *testing.T) {
	var lines []journal.Record
	for _, rec := range frequent()[3:] {
		body, err := encodeRecord(rec, place{Seq: 17})
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, journal.Record{Kind: rec.kind(), Data: body})
	}
	for _, name := range []string{"version1.jsonl", "version2.jsonl"} {
		file, err := os.Open(filepath.Join("testdata", "journals", name))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		for in := bufio.NewReader(file); ; {
			text, err := in.ReadBytes('\n')
			if err != nil {
				break
			}
			line, _, err := journal.ParseLine(text)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, line)
		}
	}
	scanned := 0
	for _, line := range lines {
		got, at, ok := scanRecord(line.Kind, line.Data)
		if frequent := line.Kind == "answer" || line.Kind == "intent" || line.Kind == "result"; ok != frequent {
			t.Errorf("%s %s: scanned %t", line.Kind, line.Data, ok)
		}
		if !ok {
			continue
		}
		scanned++
		want, place, err := decodedSlowly(line.Kind, line.Data)
		if err != nil || !reflect.DeepEqual(got, want) || at != place {
			t.Errorf("%s was read as %+v at %+v, want %+v at %+v, %v", line.Data, got, at, want, place, err)
		}
	}
	if scanned < 6 {
		t.Errorf("%d records were scanned", scanned)
	}
}

// FuzzK5_SameMembers checks that records with the same members are equal in the canonical form that replays compare.
func FuzzK5_SameMembers(f *testing.F) {
	for _, seed := range [][2]string{{`{"seq":1,"a":1}`, `{"seq":2,"a":1}`}, {`{"a":1,"a":2}`, `{"a":1,"a":2}`}, {`{"a":1}`, `{"a":1,"b":2}`}, {`{"seq":1}`, `{}`}, {`{"a":1}`, `{"seq":1,"latency":3,"a":1,"duration":2}`},
		{`{"a": 1}`, `{"a":1}`}, {`[]`, `[]`}, {`{"a":tru}`, `{"a":tru}`}, {`{"start":{"a":1},"x":null}`, `{"x":null}`}, {`{"a":1}x`, `{"a":1}x`}, {`{"A":1,"Seq":2}`, `{"A":1,"Seq":3}`}} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, x, y []byte) {
		a, b := journal.Record{Kind: "k", Data: x}, journal.Record{Kind: "k", Data: y}
		if sameMembers(a, b) && string(comparable(a)) != string(comparable(b)) {
			t.Fatalf("%q and %q are said to be the same", x, y)
		}
	})
}

// Records that differ only in members that may differ are found equal without the canonical form.
func TestK5_SameMembers(t *testing.T) {
	for _, rec := range frequent() {
		body, err := encodeRecord(rec, place{Seq: 17})
		other, err2 := encodeRecord(rec, place{Seq: 18, Resumed: 4})
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		a, b := journal.Record{Kind: rec.kind(), Data: body}, journal.Record{Kind: rec.kind(), Data: other}
		if !sameMembers(a, b) {
			t.Errorf("%s and %s differ", body, other)
		}
		if b.Kind = "other"; sameMembers(a, b) || equal(a, b) {
			t.Errorf("%s is the same in another kind", body)
		}
	}
	a, b := journal.Record{Kind: "turn", Data: json.RawMessage(`{"seq":1,"text":"a"}`)}, journal.Record{Kind: "turn", Data: json.RawMessage(`{"text":"a","seq":2}`)}
	if !equal(a, b) {
		t.Error("the order of members makes a difference")
	}
	if b.Data = json.RawMessage(`{"seq":1,"text":"b"}`); equal(a, b) {
		t.Error("another text makes no difference")
	}
}
