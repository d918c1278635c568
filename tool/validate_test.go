package tool

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parse(t testing.TB, text string) *schema {
	t.Helper()
	s, err := parametersOf(json.RawMessage(text), false)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fit returns the validated arguments, or what is wrong with them.
func fit(s *schema, text string) (args, problem string) {
	f := s.validate(text)
	return f.args, f.problem
}

const everything = `{"type":"object","properties":{"s":{"type":"string"},"i":{"type":"integer","minimum":0},"n":{"type":"number"},
	"b":{"type":"boolean"},"a":{"type":"array","items":{"type":"integer"}},"o":{"type":"object","properties":{"i":{"type":"integer"}},
	"required":["i"]},"e":{"type":"string","enum":["x","y"]},"maybe":{"type":["integer","null"]},"any":{}},"additionalProperties":false}`

func TestC1_WhatFitsStaysAsItWas(t *testing.T) {
	s := parse(t, everything)
	for _, text := range []string{
		`{}`, ` {"s": "x",  "i":1 } `, `{"n":1.50}`, `{"i":9007199254740993}`, `{"a":[1,2],"o":{"i":1}}`,
		`{"maybe":null}`, `{"any":{"x":[null]}}`,
		`{"s":"<&>\u00e4"}`, `{"e":"x"}`,
	} {
		if got, problem := fit(s, text); got != text || problem != "" {
			t.Errorf("%s: %s, %s", text, got, problem)
		}
	}
}

func TestC1_HarmlessErrorsAreMended(t *testing.T) {
	s := parse(t, everything)
	for text, want := range map[string]string{
		``:                         `{}`,
		`null`:                     `{}`,
		`{"i":"12"}`:               `{"i":12}`,
		`{"i":" -3 "}`:             "",
		`{"i":10.0}`:               `{"i":10}`,
		`{"i":1e2}`:                `{"i":100}`,
		`{"i":"1e2"}`:              `{"i":100}`,
		`{"n":"1.5"}`:              `{"n":1.5}`,
		`{"b":"true"}`:             `{"b":true}`,
		`{"b":"False"}`:            `{"b":false}`,
		`{"s":5}`:                  `{"s":"5"}`,
		`{"s":1.50}`:               `{"s":"1.50"}`,
		`{"s":true}`:               `{"s":"true"}`,
		`{"i":null,"s":null}`:      `{}`,
		`{"x":1,"s":"y"}`:          `{"s":"y"}`,
		`{"a":["1",2.0]}`:          `{"a":[1,2]}`,
		`{"a":"[1,\"2\"]"}`:        `{"a":[1,2]}`,
		`{"o":"{\"i\":\"1\"}"}`:    `{"o":{"i":1}}`,
		`{"o":{"i":"1","more":1}}`: `{"o":{"i":1,"more":1}}`,
		`{"maybe":"7"}`:            `{"maybe":7}`,
		`"{\"s\": \"x\"}"`:         `{"s":"x"}`,
		`"{\"i\":\"1\"}"`:          `{"i":1}`,
	} {
		got, problem := fit(s, text)
		if want == "" && problem == "" || want != "" && (got != want || problem != "") {
			t.Errorf("%s: %s (%s), want %s", text, got, problem, want)
		}
	}
}

func TestC1_GuessesThatCouldDoDamageAreNotMade(t *testing.T) {
	s := parse(t, everything)
	for text, want := range map[string]string{
		`{"i":"0x10"}`:        `"i" must be an integer`,
		`{"i":"1_000"}`:       `"i" must be an integer`,
		`{"n":"NaN"}`:         `"n" must be a number`,
		`{"n":"Inf"}`:         `"n" must be a number`,
		`{"n":1e400}`:         `"n" must be a number`,
		`{"i":"010"}`:         `"i" must be an integer`,
		`{"i":1e300}`:         `"i" must be an integer`,
		`{"i":""}`:            `"i" must be an integer`,
		`{"i":-1}`:            `"i" must be 0 or more, got -1`,
		`{"b":1}`:             `"b" must be a boolean`,
		`{"b":"yes"}`:         `"b" must be a boolean`,
		`{"a":1}`:             `"a" must be an array`,
		`{"a":"1,2"}`:         `"a" must be an array`,
		`{"a":[1,"x"]}`:       `"a[1]" must be an integer`,
		`{"o":{}}`:            `"o.i" is missing`,
		`{"o":[]}`:            `"o" must be an object`,
		`{"e":"z"}`:           `"e" must be one of "x", "y", got the string "z"`,
		`{"s":["x"]}`:         `"s" must be a string`,
		`{"s":"x","s":"x"}`:   `"s" occurs twice`,
		`{"o":{"i":1,"i":2}}`: `"i" occurs twice`,
		`"{\"s\":\"x"`:        `must be one JSON object`,
		`"{\"s\":\"x\"`:       `not valid JSON`,
		`"{\"s\":\"x\""`:      `must be one JSON object`,
		`"[{}]"`:              `must be one JSON object`,
	} {
		if got, problem := fit(s, text); got != "" || !strings.Contains(problem, want) {
			t.Errorf("%s: %s (%s), want %s", text, got, problem, want)
		}
	}
	if _, problem := fit(s, `{"any":[{"x":1},{"x":2}],"s":"any"}`); problem != "" {
		t.Errorf("names of different objects are not the same: %s", problem)
	}
}

func TestC1_ProblemsAreShort(t *testing.T) {
	_, problem := fit(parse(t, everything), `{"a":"`+strings.Repeat("ä", 1<<20)+`"}`)
	if len(problem) > 300 || !strings.Contains(problem, `"a"`) {
		t.Errorf("%d bytes: %.100s", len(problem), problem)
	}
}

const callCorpus = "../../shared/corpora/tool_call_json/cases.jsonl"

// callCase holds one line of the corpus.
type callCase struct {
	ID, Outcome, Group, Note string
	Raw, Schema              json.RawMessage
	Value                    any
}

// text returns the arguments: a string, or what a recipe produces.
func (c *callCase) text(t *testing.T) string {
	var s string
	if json.Unmarshal(c.Raw, &s) == nil {
		return s
	}
	var recipe struct {
		Prefix string `json:"gen_prefix"`
		Gen    []any
		Suffix string `json:"gen_suffix"`
		Hex    string
	}
	if err := json.Unmarshal(c.Raw, &recipe); err != nil {
		t.Fatal(err)
	}
	if recipe.Gen == nil {
		b, err := hex.DecodeString(recipe.Hex)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	return recipe.Prefix + strings.Repeat(recipe.Gen[0].(string), int(recipe.Gen[1].(float64))) + recipe.Suffix
}

// decided returns the cases of the corpus that we decide differently on purpose.
func decided() map[string]string {
	return map[string]string{
		"tc_proto": "a schema that allows further fields gets them: __proto__ means nothing in Go",
		"tc_lone_surrogate": "it becomes U+FFFD, as everywhere in encoding/json; there is no file of that name to " +
			"be harmed",
		"tc_esc_nul": "that a path must not have a NUL in it is the environment's business: the arguments are " +
			"valid JSON",
	}
}

// TestC1_CallCorpus checks that calls which are to be accepted or coerced have the corpus' value,
// and that all others do not run. That includes calls which the corpus allows to repair: bad JSON
// never runs a tool. Neither do texts that are not tool calls, unless they are valid JSON.
func TestC1_CallCorpus(t *testing.T) {
	f, err := os.Open(callCorpus)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the corpus is not here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewReader(f)
	n := 0
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var c callCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		if len(c.Schema) == 0 || bytes.Equal(c.Schema, []byte("null")) {
			c.Schema = json.RawMessage(`{"type":"object"}`)
		}
		n++
		t.Run(c.ID, func(t *testing.T) { checkCallCase(t, c) })
	}
	if n < 400 {
		t.Errorf("only %d cases", n)
	}
}

func checkCallCase(t *testing.T, c callCase) {
	text := c.text(t)
	got, problem := fit(parse(t, string(c.Schema)), text)
	if reason, ok := decided()[c.ID]; ok {
		if problem != "" {
			t.Errorf("refused (%s), though decided otherwise: %s", problem, reason)
		}
		return
	}
	if c.Group != "tool_call" {
		if problem == "" && strings.TrimSpace(text) != "" && !json.Valid([]byte(text)) {
			t.Errorf("%.200q ran as %.200s", text, got)
		}
		return
	}
	switch c.Outcome {
	case "accept", "coerce":
		var value any
		if err := json.Unmarshal([]byte(got), &value); err != nil {
			t.Fatalf("%.200s: refused: %s", text, problem)
		}
		if _, object := value.(map[string]any); c.Value != nil && object {
			if diff := cmp.Diff(c.Value, value); diff != "" {
				t.Errorf("%.200s: %s", text, diff)
			}
		}
	default:
		if problem == "" {
			t.Errorf("%.200s: ran with %.200s (%s)", text, got, c.Note)
		}
	}
}

func TestR9_LimitsOfASchemaAreWords(t *testing.T) {
	s := parse(t, `{"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":9},"x":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1},
		"s":{"type":"string","minLength":2,"maxLength":3},"a":{"type":"array","minItems":1,"maxItems":2}}}`)
	for text, want := range map[string]string{
		`{"n":0}`:                          `parameter "n" must be 1 or more, got 0`,
		`{"n":"10"}`:                       `parameter "n" must be 9 or less, got 10`,
		`{"x":0}`:                          `parameter "x" must be more than 0, got 0`,
		`{"x":1.0}`:                        `parameter "x" must be less than 1, got 1.0`,
		`{"s":"ä"}`:                        `parameter "s" is too short: its length is 1, the minimum is 2`,
		`{"s":"äöüß"}`:                     `parameter "s" is too long: its length is 4, the maximum is 3`,
		`{"a":[]}`:                         `parameter "a" is too short: its length is 0, the minimum is 1`,
		`{"a":[1,2,3]}`:                    `parameter "a" is too long: its length is 3, the maximum is 2`,
		`{"n":9,"x":0.5,"s":"äö","a":[1]}`: "",
	} {
		if _, problem := fit(s, text); problem != want {
			t.Errorf("%s: %q, want %q", text, problem, want)
		}
	}
}

// Numbers of an enum are compared as numbers, and coerced values have to be in it too.
func TestC1_EnumsOfNumbers(t *testing.T) {
	s := parse(t, `{"type":"object","properties":{"n":{"type":"number","enum":[1000000,0.5]},"i":{"type":"integer","enum":[1,2000000],"minimum":1},
		"e":{"type":"string","enum":["1","true"]}}}`)
	for text, want := range map[string]string{
		`{"n":1000000}`: `{"n":1000000}`, `{"n":1e6}`: `{"n":1e6}`, `{"n":0.50}`: `{"n":0.50}`,
		`{"i":2000000.0}`: `{"i":2000000}`, `{"i":"1"}`: `{"i":1}`,
		`{"e":1}`: `{"e":"1"}`, `{"e":true}`: `{"e":"true"}`,
	} {
		if args, problem := fit(s, text); args != want || problem != "" {
			t.Errorf("%s: %s (%s), want %s", text, args, problem, want)
		}
	}
	for text, want := range map[string]string{
		`{"n":2}`:   `parameter "n" must be one of 1000000, 0.5, got the number 2`,
		`{"i":3.0}`: `parameter "i" must be one of 1, 2000000, got the number 3`,
		`{"i":0.0}`: `parameter "i" must be one of 1, 2000000, got the number 0; parameter "i" must be 1 or more, got 0`,
		`{"e":2}`:   `parameter "e" must be one of "1", "true", got the string "2"`,
	} {
		if _, problem := fit(s, text); problem != want {
			t.Errorf("%s: %q, want %q", text, problem, want)
		}
	}
}

// A null stays where the schema allows it, also without naming a type: leaving the parameter out
// may mean something else.
func TestM1_NullsThatAreAllowed(t *testing.T) {
	for property, want := range map[string]string{
		`{}`: `{"a":null}`, `{"anyOf":[{"type":"integer"},{"type":"null"}]}`: `{"a":null}`,
		`{"type":["integer","null"]}`: `{"a":null}`, `{"type":"integer"}`: `{}`,
	} {
		if v := parse(t, `{"type":"object","properties":{"a":`+property+`}}`).validate(`{"a":null}`); v.problem != "" ||
			v.args != want {
			t.Errorf("%s: %+v, want %s", property, v, want)
		}
	}
}
