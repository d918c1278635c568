package api

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
)

func TestParams(t *testing.T) {
	own, err := ParseOptions(nil, json.RawMessage(`{"b":1,"a\"":[2],"ours":{"x":null}}`), "model")
	if err != nil {
		t.Fatal(err)
	}
	p := Params{Own: own}
	p.Put("first", `"`, `x`, `"`)
	p.Put("ours", "9")
	got, err := p.Bytes()
	if want := `,"first":"x","a\"":[2],"b":1,"ours":{"x":null}`; string(got) != want || err != nil {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	for _, raw := range []string{`[]`, `{`, `"x"`, `{"model":"m"}`} {
		if _, err := ParseOptions(nil, json.RawMessage(raw), "model"); !errors.Is(err, llm.ErrConfiguration) {
			t.Errorf("%s: %v", raw, err)
		}
	}
	if got, want := Strings([]string{"a", `b"`, "<\xff"}), `["a","b\"","<\ufffd"]`; got != want ||
		Strings(nil) != "[]" {
		t.Errorf("%s, want %s", got, want)
	}
	for f, want := range map[float64]string{0: "0", 0.7: "0.7", 1e21: "1e+21", -2: "-2"} {
		var p Params
		p.Float("n", &f)
		if got, err := p.Bytes(); err != nil || string(got) != `,"n":`+want || !json.Valid([]byte(want)) {
			t.Errorf("%v: %s, %v", f, got, err)
		}
	}
	for _, f := range []float64{math.NaN(), math.Inf(1)} {
		var p Params
		p.Float("n", &f)
		if _, err := p.Bytes(); !errors.Is(err, llm.ErrInvalidRequest) {
			t.Errorf("%v: %v", f, err)
		}
	}
}

func TestPlainID(t *testing.T) {
	for _, id := range []string{"call_1", "toolu_01-Ab", strings.Repeat("x", 64)} {
		if got := PlainID(id, 64); got != id {
			t.Errorf("%q became %q", id, got)
		}
	}
	long := strings.Repeat("x", 65)
	seen := map[string]string{}
	for _, id := range []string{"", "a|b", "a_b", "a:b", "é", "\xff", long, long + "y", strings.Repeat("é", 60)} {
		got := PlainID(id, 64)
		if got == "" || len(got) > 64 ||
			strings.Trim(got, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("%q became %q", id, got)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q both became %q", id, other, got)
		}
		seen[got] = id
		if PlainID(id, 64) != got {
			t.Errorf("%q: not always the same", id)
		}
	}
}
