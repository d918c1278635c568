package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/jsonscan"
)

var seeds = []string{``, `null`, `true`, `fals`, `"a"`, `"a\n\"\\\/\b\f\r\té"`, `"\u00e9\u2028\ud83d\ude00"`, `"` + "\x1f" + `"`, `"` + "\xff" + `"`, `"\x"`, `"\u12G4"`,
	`0`, `-0`, `01`, `-`, `1.5`, `1.`, `1e9`, `1e+`, `-12.5E-3`, `9223372036854775808`, `-9223372036854775808`, `1e999`, `[]`, `[1,]`, `[,]`, `{}`, `{"a":1}`, `{"a":1,}`, `{"a" : [ 1 , 2 ] }`,
	`{"a":1 "b":2}`, `{1:2}`, `[1]]`, `"unfinished`, `{"n":17,"s":"x","b":true,"f":1.5,"list":["p","q"],"any":{"k":[1,{}]}}`, `{"n":17,"n":18}`, `{"s":"x","n":17}`, `{"N":17}`,
	`{"list":[]}`, `{"list":null}`, `{"list":["a" ,"b"]}`, `{"any":tru}`, `"0123456789abcdef` + "\t" + `"`, `"éééééééé\"éééé"`,
	strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)}

// Skip reads exactly what encoding/json reads.
func FuzzK5_Skip(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := jsonscan.New(data)
		s.Skip()
		trimmed := strings.Trim(string(data), " \t\r\n") == string(data)
		if got, want := s.End(), json.Valid(data) && trimmed; got != want {
			t.Fatalf("Skip of %q = %t, want %t", data, got, want)
		}
		var compact bytes.Buffer
		want := json.Compact(&compact, data) == nil && bytes.Equal(compact.Bytes(), data)
		if got := jsonscan.Compact(data, 0); got != want {
			t.Fatalf("Compact of %q = %t, want %t", data, got, want)
		}
		if got, want := jsonscan.Compact(data, 1), want && json.Valid(slices.Concat([]byte("["), data, []byte("]"))); got != want {
			t.Fatalf("Compact of %q in an array = %t, want %t", data, got, want)
		}
	})
}

// object holds the values that FuzzK5_Values reads in both ways.
type object struct {
	N    int64           `json:"n"`
	I    int             `json:"i"`
	S    string          `json:"s"`
	B    bool            `json:"b"`
	F    float64         `json:"f"`
	List []string        `json:"list"`
	Any  json.RawMessage `json:"any"`
	Map  map[string]int  `json:"map"`
}

func scanned(data []byte) (o object, ok bool) {
	s := jsonscan.New(data)
	s.Open()
	jsonscan.IntField(&s, "n", &o.N)
	jsonscan.IntField(&s, "i", &o.I)
	jsonscan.StringField(&s, "s", &o.S)
	s.BoolField("b", &o.B)
	if s.Field("f") {
		o.F = s.Float64()
	}
	if s.Field("list") {
		o.List = []string{}
		for s.OpenArray(); s.Next(); {
			o.List = append(o.List, s.String())
		}
	}
	if s.Field("any") {
		o.Any = s.Raw()
	}
	s.DecodeField("map", &o.Map)
	s.Close()
	return o, s.End()
}

// What the scanner reads, encoding/json reads, with the same values.
func FuzzK5_Values(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
		f.Add([]byte(`{"s":` + seed + `}`))
		f.Add([]byte(`{"n":` + seed + `,"i":` + seed + `}`))
		f.Add([]byte(`{"b":` + seed + `,"f":` + seed + `}`))
		f.Add([]byte(`{"f":` + seed + `,"list":[` + seed + `]}`))
		f.Add([]byte(`{"any":` + seed + `,"map":{"x":` + seed + `}}`))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, ok := scanned(data)
		if !ok {
			return
		}
		var want object
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatalf("%q was read, and encoding/json says %v", data, err)
		}
		if got.N != want.N || got.I != want.I || got.S != want.S || got.B != want.B || math.Float64bits(got.F) != math.Float64bits(want.F) ||
			!slices.Equal(got.List, want.List) || (got.List == nil) != (want.List == nil) || string(got.Any) != string(want.Any) || len(got.Map) != len(want.Map) || got.Map["x"] != want.Map["x"] {
			t.Fatalf("%q was read as %+v, want %+v", data, got, want)
		}
	})
}

// Everything that encoding/json writes is read, but for surrogates, which it does not write.
func TestK5_ReadsWhatIsWritten(t *testing.T) {
	want := object{N: math.MinInt64, I: -1, S: "é \u2028 <&> \x01 \\ \" 😀\n", B: true, F: 1e-9, List: []string{"", "x"}, Any: json.RawMessage(`[null,{"a":1.5e3}]`), Map: map[string]int{"x": 1}}
	for _, o := range []object{want, {Any: json.RawMessage("null")}} {
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := scanned(data)
		if o.List == nil {
			if ok {
				t.Errorf("null was read as a list: %s", data)
			}
			continue
		}
		again, err := json.Marshal(got)
		if err != nil || !ok || string(again) != string(data) {
			t.Errorf("%s was read as %s, %t, %v", data, again, ok, err)
		}
	}
}
