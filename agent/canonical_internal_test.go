package agent

import (
	"encoding/json"
	"testing"
)

var canonicalTexts = []string{`{"path":"a.go"}`, `{"a":1,"b":"x","c":true,"d":null,"e":-1,"f":0}`, `{"command":"echo \"a\\b\"\n\t\r"}`, `{}`, `{"b":1,"a":2}`, `{"a":1,"a":2}`,
	`{"a":01}`, `{"a":1.0}`, `{"a":1e2}`, `{"a": 1}`, `{"a":"\u0041"}`, `{"a":"\/"}`, `{"a":"é"}`, `{"a":" "}`, `{"a":[1]}`, `{"a":{}}`, `{"a":1}x`, `{"a":1} {}`, `{"\n":1}`,
	`{"":1}`, `{"a":"<&>"}`, `{"a":tru}`, `{"a":}`, `{"a"`, `{"a":"`, `{"a":"\`, `[]`, ``, `x`, `{"A":1,"a":2}`, `{"a":1,"a b":2}`, `{"a b":1,"a":2}`, `{"a!":1,"a":2}`, `{"a":1,"a!":2}`,
	"{\"a\":\"\x7f\"}", "{\"a\":\"\xff\"}", `{"a":123456789012345678901234567890}`, `{"a":1,}`, `{"a" :1}`, `{"a":-0}`}

// FuzzK3_Canonical compares the short way with the plain one.
func FuzzK3_Canonical(f *testing.F) {
	for _, text := range canonicalTexts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, want := canonical(text), canonicalized(text); got != want {
			t.Errorf("canonical(%q) = %q, want %q", text, got, want)
		}
	})
}

// The calls of the coding tools take the short way.
func TestK3_CanonicalCalls(t *testing.T) {
	for _, text := range canonicalTexts[:3] {
		if text != canonicalTexts[1] && !isCanonical(text) {
			t.Errorf("%s is not recognized", text)
		}
		if n := testing.AllocsPerRun(100, func() { isCanonical(text) }); n > 0 {
			t.Errorf("%s: %v allocations", text, n)
		}
	}
}

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
	records := []record{inputRecord{Text: "<go> & \u2028"}, endRecord{Reason: ReasonDone}, turnRecord{}, stopRecord{}, spentRecord{}, awaitRecord{},
		noteRecord{Note: "n", Data: json.RawMessage(`{"a":1}`)}, inputRecord{Text: string(make([]byte, 2*mostEncoding))}, inputRecord{}}
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
