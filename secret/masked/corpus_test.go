package masked_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/secret"
)

// leakCase is a case of the collection: a secret and a place where it must not be.
type leakCase struct {
	ID, Kind, Value, Sink string
	SecretKind            string `json:"secret_kind"`
}

// readCases returns the cases of the collection, or a few of our own without it.
func readCases(t *testing.T) (cases []leakCase) {
	t.Helper()
	data, err := os.ReadFile("../../../shared/corpora/secrets_env/cases.jsonl")
	if errors.Is(err, fs.ErrNotExist) {
		t.Log("the shared corpora are not here:", err)
		for _, sink := range []string{"event:tool_output", "event:tool_args", "session_file", "truncated_spool_file",
			"child_argv"} {
			cases = append(cases, leakCase{"own_" + sink, "secret_sink", "canary-host-secret-7f3a9c", sink,
				"canary_plain"},
				leakCase{"own_key_" + sink, "secret_sink", "ghp_" + strings.Repeat("e", 36), sink, "github_pat"})
		}
		return cases
	} else if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var c leakCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		if c.Kind == "secret_sink" {
			cases = append(cases, c)
		}
	}
	return cases
}

// TestL7_Corpus checks that no sink has a registered secret, in any encoding, and that no sink has
// an unregistered one of a known format.
func TestL7_Corpus(t *testing.T) {
	kinds := map[string][]leakCase{}
	cases := readCases(t)
	for _, c := range cases {
		kinds[c.SecretKind] = append(kinds[c.SecretKind], c)
	}
	for kind, cases := range kinds {
		for _, registered := range []bool{true, false} {
			if !registered && kind == "canary_plain" { // has no format
				continue
			}
			t.Run(fmt.Sprintf("%s/registered=%v", kind, registered), func(t *testing.T) {
				leaked := leaksOf(t, cases[0].Value, registered)
				for _, c := range cases {
					text, known := leaked[c.Sink]
					if !known {
						t.Errorf("%s: the sink %s is not exercised", c.ID, c.Sink)
					}
					for name, form := range forms(c.Value) {
						if (registered || name == "raw") && strings.Contains(text, form) {
							t.Errorf("%s: the sink %s has the value as %s: %s", c.ID, c.Sink, name, around(text, form))
						}
					}
				}
			})
		}
	}
	t.Logf("%d cases", len(cases))
}

// around returns the surroundings of a part of a text.
func around(text, part string) string {
	at := strings.Index(text, part)
	return text[max(0, at-80):min(len(text), at+len(part)+40)]
}

// forms returns a value in the encodings in which it must not leak.
func forms(value string) map[string]string {
	var escaped, percent strings.Builder
	for _, c := range []byte(value) {
		fmt.Fprintf(&escaped, `\u%04x`, c)
		fmt.Fprintf(&percent, `%%%02X`, c)
	}
	quoted, _ := json.Marshal(value) // a string can be encoded
	forms := map[string]string{"raw": value, "JSON": strings.Trim(string(quoted), `"`),
		"escaped JSON": escaped.String(), "percent": percent.String(),
		"query": url.QueryEscape(value), "hex": hex.EncodeToString([]byte(value)),
		"HEX": strings.ToUpper(hex.EncodeToString([]byte(value)))}
	for shift := range 3 {
		for name, enc := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding,
			"base64url": base64.RawURLEncoding} {
			text := enc.EncodeToString([]byte("\x00\x00"[:shift] + value))
			forms[fmt.Sprint(name, shift)] = text[(8*shift+5)/6 : (8*(shift+len(value)))/6]
		}
	}
	return forms
}

// leaksOf runs sessions in which a value comes from everywhere, and returns what reached each sink.
func leaksOf(t *testing.T, value string, registered bool) map[string]string {
	t.Helper()
	m := secret.New()
	if registered {
		if err := m.Register("CANARY", value); err != nil {
			t.Fatal(err)
		}
	}
	inputs := readingSession(t, m, value)
	outputs := writingSession(t, m, value)
	sinks := map[string]string{
		"event:tool_output": inputs.sink("events"), "event:error": inputs.sink("events"),
		"event:llm_request": inputs.sink("requests"),
		"session_file":      inputs.sink("journal"), "truncated_spool_file": inputs.sink("spools"),
		"panic_message": inputs.sink("events"),
		"log":           inputs.sink("log") + outputs.sink("log"), "event:tool_args": outputs.sink("events"),
		"otel_span": inputs.sink("requests") + inputs.sink("calls") + inputs.sink("events"),
	}
	sinks["provider_error_raw"] = providerError(t, m, value)
	argv, environ := childrenOf(t, value)
	sinks["child_argv"], sinks["proc_cmdline"], sinks["child_env"] = argv, argv, environ
	for name, want := range map[string]string{"session_file": "[secret ", "event:tool_output": "[secret ",
		"truncated_spool_file": "[secret ",
		"event:tool_args":      "[secret ", "event:llm_request": "[secret ", "log": "[secret ",
		"panic_message": "panicked",
		"child_argv":    "sh", "child_env": "PATH="} {
		if !strings.Contains(sinks[name], want) {
			t.Errorf("the sink %s has nothing that was masked, but %.300q", name, sinks[name])
		}
	}
	return sinks
}

// readingSession runs a session that gets the value from a person, files, commands, the project's
// instructions, errors and panics.
func readingSession(t *testing.T, m *secret.Masker, value string) *world {
	w := newWorld(t, m,
		llmtest.Calls(llmtest.Call("shell", map[string]any{"command": "cat forms; cat key >&2"})),
		llmtest.Calls(llmtest.Call("read_file", map[string]any{"file_path": "forms"})),
		llmtest.Calls(llmtest.Call("shell", map[string]any{"command": "cat big"})),
		llmtest.Calls(llmtest.Call("shell",
			map[string]any{"command": `while IFS= read -r line; do printf '%s' "${line%"${line#?????????}"}"; printf '%s\n' "${line#?????????}"; done < forms`})),
		llmtest.Calls(llmtest.Call("panics", map[string]any{})),
		llmtest.Calls(llmtest.Call("fails", map[string]any{})),
		llmtest.Text("done"),
	)
	var all, big strings.Builder
	for _, form := range forms(value) {
		if form != value {
			all.WriteString(form + "\n")
		}
	}
	for range 2000 {
		big.WriteString("a line of the output between the secrets\n")
	}
	w.write("key", value)
	w.write("forms", value+"\n"+all.String())
	w.write("AGENTS.md", "The key is "+value+" today.\n")
	w.write("big", value+"\n"+big.String()+value+"\n"+big.String()+value)
	if result, err := w.run("The key is " + value + " and nothing else."); err != nil || result.Text != "done" {
		t.Fatalf("%+v, %v", result, err)
	}
	return w
}

// writingSession runs a session whose model writes the value itself: its own message stays as it
// is, but nobody else gets it.
func writingSession(t *testing.T, m *secret.Masker, value string) *world {
	parts := []llm.Part{llm.Thinking{Text: "it is " + value},
		llm.Text{Text: "I use " + strings.Join(strings.Split(value, ""), "") + " now"},
		llmtest.Call("shell", map[string]any{"command": "echo " + fmt.Sprintf("%q", value)})}
	w := newWorld(t, m, llmtest.Answer(parts...), llmtest.Text("said "+value))
	if result, err := w.run("go"); err != nil || result.Text != "said "+value {
		t.Fatalf("%+v, %v", result, err)
	}
	return w
}

// providerError returns all that a host sees of a provider's error with the value.
func providerError(t *testing.T, m *secret.Masker, value string) string {
	failure := &llm.Error{Kind: llm.ErrInvalidRequest, Provider: "test", Code: "c",
		Message: "the key " + value + " is wrong", Status: 400,
		Raw: []byte(`{"error":"` + forms(value)["JSON"] + `"}`), Err: errors.New(value)}
	w := newWorld(t, m, llmtest.Error(failure), llmtest.Error(failure))
	_, ended := w.run("go")
	_, err := w.options.Client.Complete(t.Context(), &llm.Request{Model: "m", Messages: []llm.Message{llm.User("go")}})
	var seen *llm.Error
	if !errors.As(err, &seen) || !errors.Is(err, llm.ErrInvalidRequest) || !strings.Contains(string(seen.Raw),
		"[secret ") {
		t.Fatalf("%#v", err)
	}
	return ended.Error() + err.Error() + string(seen.Raw) + seen.Message + seen.Err.Error() + w.sink("events") + w.sink(
		"journal")
}

// childrenOf returns the command lines and the environments of what a command's processes see, as
// they print them: nothing is masked here. The host has the value in a variable.
func childrenOf(t *testing.T, value string) (argv, environ string) {
	t.Helper()
	l, err := env.NewLocal(t.TempDir(), env.LocalOptions{Environ: append(os.Environ(), "SERVICE_TOKEN="+value)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	run := func(script string) string {
		var out capture.Buffer
		if _, err := env.Run(t.Context(), l, env.Command{Script: script, Output: out.Write}, time.Minute); err != nil {
			t.Fatal(err)
		}
		return out.Text()
	}
	return run("ps -ef 2>/dev/null; ps axww; for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $f; echo; done " +
		"2>/dev/null"), run("env; export -p")
}
