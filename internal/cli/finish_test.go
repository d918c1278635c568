//go:build unix

package cli

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// ending holds the answers of a model and the outcome that the command must report.
type ending struct {
	turns  []fakellm.Turn
	code   int
	reason string // of PROCESSING_END
	finish string // the raw finish reason in PROCESSING_END
	stdout string // in text mode
	stderr string // a part of it
	calls  int    // model calls
}

// repeat returns the same turn for every request of a test.
func repeat(turn fakellm.Turn) []fakellm.Turn {
	turns := make([]fakellm.Turn, 9)
	for i := range turns {
		turns[i] = turn
	}
	return turns
}

// stopTurns returns turns with a text and a vendor's finish reason.
func stopTurns(text, stop string) []fakellm.Turn { return repeat(fakellm.Turn{Text: text, Stop: stop}) }

// wholeAnswer returns the ending of a complete answer.
func wholeAnswer(stop string) ending {
	return ending{turns: stopTurns("Said.", stop), reason: "completed", finish: stop, stdout: "Said.\n", calls: 1}
}

// cutAnswer returns the ending of an answer that is cut off again after each continuation.
func cutAnswer(stop string) ending {
	return ending{turns: stopTurns("Half. ", stop), code: 1, reason: "incomplete", finish: stop,
		stdout: "Half. Half. Half. \n", stderr: "was cut off (" + stop + ")", calls: 3}
}

// refusedAnswer returns the ending of an answer that the model or the vendor refused to give.
func refusedAnswer(stop string) ending {
	return ending{turns: stopTurns("No.", stop), code: 1, reason: "refused", finish: stop, stdout: "No.\n",
		stderr: "refused to answer (" + stop + ")", calls: 1}
}

// emptyAnswer returns the ending of an answer without content and with the finish reason of a
// complete one.
func emptyAnswer(stop string) ending {
	return ending{turns: repeat(fakellm.Turn{}), code: 1, reason: "incomplete", finish: stop,
		stderr: "is empty (" + stop + ")", calls: 2}
}

// windowFull returns the ending of an answer that filled the context window.
func windowFull(stop string) ending {
	return ending{turns: stopTurns("Half.", stop), code: 1, reason: "error", stderr: "window was full", calls: 1}
}

// endings holds every way in which an answer can end, by provider.
var endings = map[string]map[string]ending{
	"anthropic": {
		"end_turn": wholeAnswer("end_turn"), "stop_sequence": wholeAnswer("stop_sequence"),
		"max_tokens": cutAnswer("max_tokens"), "refusal": refusedAnswer("refusal"),
		"an empty answer": emptyAnswer("end_turn"), "a new word": cutAnswer("tired"),
		"model_context_window_exceeded": windowFull("model_context_window_exceeded"),
		"tool_use without a call":       cutAnswer("tool_use"),
		"pause_turn": {turns: []fakellm.Turn{{Text: "One. ", Stop: "pause_turn"}, {Text: "Two."}}, reason: "completed",
			finish: "end_turn",
			stdout: "One. Two.\n", calls: 2}, // the script counts a paused turn and its continuation as one answer
	},
	"openai": {
		"completed": wholeAnswer(""), "max_output_tokens": cutAnswer("max_output_tokens"),
		"content_filter": refusedAnswer("content_filter"), "a new word": cutAnswer("tired"),
		"a refusal": {turns: repeat(fakellm.Turn{Text: "No.", Finish: llm.FinishContentFilter}), code: 1,
			reason: "refused", finish: "refusal",
			stdout: "No.\n", stderr: "refused to answer (refusal)", calls: 1},
		"an empty answer": emptyAnswer("completed"),
	},
	"gemini": {
		"STOP": wholeAnswer("STOP"), "MAX_TOKENS": cutAnswer("MAX_TOKENS"), "an empty answer": emptyAnswer("STOP"),
		"a new word": cutAnswer("TIRED"), "OTHER": cutAnswer("OTHER"),
		"TOO_MANY_TOOL_CALLS": cutAnswer("TOO_MANY_TOOL_CALLS"), "NO_IMAGE": cutAnswer("NO_IMAGE"),
		"FINISH_REASON_UNSPECIFIED": cutAnswer("FINISH_REASON_UNSPECIFIED"),
		"SAFETY":                    refusedAnswer("SAFETY"), "RECITATION": refusedAnswer("RECITATION"),
		"BLOCKLIST": refusedAnswer("BLOCKLIST"), "LANGUAGE": refusedAnswer("LANGUAGE"),
		"PROHIBITED_CONTENT": refusedAnswer("PROHIBITED_CONTENT"), "SPII": refusedAnswer("SPII"),
		"MODEL_ARMOR":              refusedAnswer("MODEL_ARMOR"),
		"IMAGE_SAFETY":             refusedAnswer("IMAGE_SAFETY"),
		"IMAGE_PROHIBITED_CONTENT": refusedAnswer("IMAGE_PROHIBITED_CONTENT"),
		"IMAGE_RECITATION":         refusedAnswer("IMAGE_RECITATION"),
		"MISSING_THOUGHT_SIGNATURE": {turns: stopTurns("Half.", "MISSING_THOUGHT_SIGNATURE"), code: 1, reason: "error",
			stderr: "MISSING_THOUGHT_SIGNATURE", calls: 1},
	},
	"openai-compatible": {
		"stop": wholeAnswer("stop"), "length": cutAnswer("length"), "max_tokens": cutAnswer("max_tokens"),
		"content_filter": refusedAnswer("content_filter"),
		"safety":         refusedAnswer("safety"), "an empty answer": emptyAnswer("stop"),
		"a new word":   cutAnswer("tired"),
		"model_length": windowFull("model_length"),
	},
}

// Only a complete answer is a success, whatever finish reason a model gives in any wire format.
func TestI3_EveryFinishReason(t *testing.T) {
	t.Parallel()
	for _, w := range wires {
		for name, e := range endings[w.provider] {
			t.Run(w.provider+"/"+name, func(t *testing.T) {
				t.Parallel()
				server := fakellm.New(fakellm.Script(e.turns...), fakellm.Options{})
				web := httptest.NewServer(server)
				defer web.Close()
				run := func(more ...string) output {
					cmd := attractorCommand(t, append([]string{"run", "--provider", w.provider, "--base-url",
						web.URL + w.version, "--model", w.model, "--yes",
						"--no-journal", "--dir", t.TempDir(), "go"}, more...)...)
					cmd.Env = append(cmd.Env, w.keyVar+"=sk-secret-key")
					return runCommand(t, cmd)
				}
				if w.provider == "anthropic" { // one provider is enough to test the output for people
					if got := run(); got.code != e.code || got.stdout != e.stdout {
						t.Errorf("exit code %d, %q, want %d, %q", got.code, got.stdout, e.code, e.stdout)
					}
					e.calls *= 2
				}
				got := run("--json")
				calls := len(server.Requests())
				end := lastProcessingEnd(t, got.stdout)
				if got.code != e.code || end.Reason != e.reason || e.finish != "" && end.Finish.Raw != e.finish ||
					calls < e.calls {
					t.Errorf("exit code %d, %+v after %d calls, want %d, %s (%s) after %d\n%s", got.code, end, calls,
						e.code, e.reason, e.finish, e.calls, got.stderr)
				}
				if !strings.Contains(got.stderr, e.stderr) {
					t.Errorf("stderr is %q, want %q in it", got.stderr, e.stderr)
				}
			})
		}
	}
}

// processingEnd holds the fields of the event that the test reads.
type processingEnd struct {
	Kind, Reason, Text string
	Finish             llm.Finish
}

// lastProcessingEnd returns the last PROCESSING_END among the events.
func lastProcessingEnd(t *testing.T, stdout string) (last processingEnd) {
	t.Helper()
	for line := range strings.Lines(stdout) {
		var ev processingEnd
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatal(err)
		}
		if ev.Kind == "PROCESSING_END" {
			last = ev
		}
	}
	return last
}

// If an answer is cut off within a call, its complete calls run and the incomplete one does not.
func TestI3_CutOffCall(t *testing.T) {
	for _, w := range wires {
		if w.provider == "gemini" {
			continue // it sends calls as a whole
		}
		t.Run(w.provider, func(t *testing.T) {
			t.Parallel()
			turns := []fakellm.Turn{
				{Text: "I write.", Finish: llm.FinishLength, Calls: []fakellm.Call{
					{Name: "shell", Args: json.RawMessage(`{"command":"echo once >> log.txt"}`)},
					{Name: "shell", Raw: `{"command":"echo torn >> log.txt`}}},
				{Text: "Done."},
			}
			server := fakellm.New(fakellm.Script(turns...), fakellm.Options{})
			web := httptest.NewServer(server)
			defer web.Close()
			dir := t.TempDir()
			cmd := attractorCommand(t, "run", "--provider", w.provider, "--base-url", web.URL+w.version, "--model",
				w.model, "--yes", "--profile", "anthropic", "--no-journal", "--dir", dir, "go")
			cmd.Env = append(cmd.Env, w.keyVar+"=sk-secret-key")
			got := runCommand(t, cmd)
			log, err := os.ReadFile(filepath.Join(dir, "log.txt"))
			if err != nil || string(log) != "once\n" {
				t.Errorf("log.txt holds %q, %v; want one line", log, err)
			}
			if got.code != 0 || got.stdout != "Done.\n" {
				t.Errorf("exit code %d, %q\n%s", got.code, got.stdout, got.stderr)
			}
			if last := string(server.Requests()[1].Body); !strings.Contains(last,
				"before the call's arguments were complete") {
				t.Errorf("the request does not report the incomplete call: %s", last)
			}
		})
	}
}
