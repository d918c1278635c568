package api

import (
	"encoding/json"
	"testing"
)

// Servers refuse half a surrogate pair, so a call that has one would end its session.
func TestX7_HalvesOfSurrogatePairs(t *testing.T) {
	for args, want := range map[string]string{
		`{"a":"\ud83d"}`:                   `{"a":"\ufffd"}`,
		`{"a":"\uDE00x\uD83D"}`:            `{"a":"\ufffdx\ufffd"}`,
		`{"a":"\ud83d\ud83d\ude00"}`:       `{"a":"\ufffd\ud83d\ude00"}`,
		`{"a":"\ude00\ud83d"}`:             `{"a":"\ufffd\ufffd"}`,
		`{"a":"\ud83d\u0041\n"}`:           `{"a":"\ufffd\u0041\n"}`,
		`{"a":"\ud83d\\ude00"}`:            `{"a":"\ufffd\\ude00"}`,
		`{ "a" : "\ud83d\ude00 \\ud83d" }`: `{ "a" : "\ud83d\ude00 \\ud83d" }`,
	} {
		got := string(AppendArgs(nil, args))
		if got != want || !json.Valid([]byte(got)) {
			t.Errorf("%s became %s, want %s", args, got, want)
		}
	}
}

func TestX7_ArgumentsThatWereEncodedTwice(t *testing.T) {
	for args, want := range map[string]string{
		`"{\"a\": 1}"`: `{"a": 1}`,
		`"{\"a\": "`:   `{"_raw":"\"{\\\"a\\\": \""}`,
		`"s"`:          `{"_raw":"\"s\""}`,
		`null`:         `{"_raw":"null"}`,
	} {
		if got := string(AppendArgs(nil, args)); got != want {
			t.Errorf("%s became %s, want %s", args, got, want)
		}
	}
}
