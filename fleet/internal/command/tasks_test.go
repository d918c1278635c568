package command

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/seed"
)

// A file of tasks has one object a line. Empty lines do not count, and the same task twice is one.
func TestP3_TasksOfAFile(t *testing.T) {
	text := `{"id":"a","prompt":"x","repo":{"url":"https://example.com/r","ref":"main","credential":"c"},"include":["*.env"],"artifacts":["out/**"],` +
		`"environment":"box","agent":{"profile":"anthropic","provider":"anthropic","model":"m","effort":"high","max_turns":3,"schema":{"type":"object"},` +
		`"checks":["make test"],"instructions":"be brief"},"budget":{"tokens":9,"usd":0.5,"time":"10m"},"deadline":"2099-01-02T03:04:05Z","labels":{"team":"red"}}` +
		"\r\n\n  \n" + `{"id":"b","prompt":"y","dir":"/src"}` + "\n" + `{"prompt":"y","id":"b","dir":"/src"}`
	got, err := readTasks(strings.NewReader(text), "tasks.jsonl", checkAny)
	if err != nil {
		t.Fatal(err)
	}
	want := []fleet.Task{{ID: "a", Prompt: "x", Repo: &fleet.Repo{URL: "https://example.com/r", Ref: "main",
		Credential: "c"}, Include: []string{"*.env"},
		Artifacts: []string{"out/**"}, Environment: "box", Agent: fleet.Spec{Profile: "anthropic",
			Provider: "anthropic", Model: "m", Effort: "high",
			MaxTurns: 3, Schema: []byte(`{"type":"object"}`), Checks: []string{"make test"}, Instructions: "be brief"},
		Budget: fleet.Budget{Tokens: 9, USD: 0.5, Time: fleet.Duration(10 * time.Minute)}, Deadline: time.Date(2099, 1,
			2, 3, 4, 5, 0, time.UTC),
		Labels: map[string]string{"team": "red"}}, {ID: "b", Prompt: "y", Dir: "/src"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func checkAny(t *fleet.Task) error { return t.Check() }

// All mistakes of a file are told at once, each with its line and its field.
func TestP3_MistakesInAFile(t *testing.T) {
	text := strings.Join([]string{
		`{"id":"ok","prompt":"x"}`,
		`{"id":"ok","prompt":"another"}`,
		`{"id":"../x","promt":"x","agent":{"modell":"m","max_turns":"3"}}`,
		`{"id":"twice","id":"twice","prompt":"x"}`,
		`not JSON`,
		`{"id":"open","prompt":"x"`,
		`{"id":"two","prompt":"x"} {"id":"three","prompt":"x"}`,
		`{"id":"long","prompt":"` + strings.Repeat("x", maxTaskLine) + `"}`,
		`{"id":"t","prompt":"x","budget":{"time":"soon"},"labels":{"n":1}}`,
		`{"id":"z"}`,
		`{"id":"s","prompt":"x","repo":"../shop"}`,
	}, "\n")
	_, err := readTasks(strings.NewReader(text), "f", checkAny)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`f:2: id: "ok" is also that of line 1`, `f:3: promt: there is no such field`,
		`f:3: agent.modell: there is no such field`,
		`f:3: agent.max_turns: must be a whole number, not a JSON string`, `f:4: id: is there twice`,
		`f:5: is not a JSON object`, `f:6: is not a JSON object, such as {...}: unexpected end`,
		`f:7: is not a JSON object, such as {...}: invalid character '{' after top-level value`, `f:8: is longer than 1048576 bytes`,
		`f:9: budget.time: time: invalid duration "soon"`,
		`f:9: labels: must be a string, not a JSON number`, `f:10: prompt: `,
		`f:11: repo: is not a JSON object, such as {...}`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%.3000s", want, err)
		}
	}
	if _, err := readTasks(strings.NewReader("\n\n"), "f", checkAny); err == nil || !strings.Contains(err.Error(),
		"f has no tasks") {
		t.Errorf("an empty file: %v", err)
	}
	many := strings.Repeat("x\n", 3*maxLineFault)
	if _, err := readTasks(strings.NewReader(many), "f", checkAny); strings.Count(err.Error(), "\n") != maxLineFault ||
		!strings.Contains(err.Error(), "and 100 mistakes more") {
		t.Errorf("many mistakes: %v", err)
	}
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if _, err := readTasks(dir, "dir", checkAny); err == nil ||
		!strings.Contains(err.Error(), "dir is a directory: name a file") {
		t.Errorf("a directory: %v", err)
	}
	failing := errors.New("the disk is on fire")
	if _, err := readTasks(failingReader{failing}, "f", checkAny); !errors.Is(err, failing) {
		t.Errorf("a reader that fails: %v", err)
	}
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

// Whatever a file has, each line is a task, empty, or named in the error.
func TestP3_AnyFile(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.OneOf(rapid.String(),
			rapid.StringMatching(`\{("id":"[a-c.]{0,2}")?,?("prompt":"[a-b ]?")?(,"[a-z]{1,6}":[^\n]{0,9})?\}?`)), 1,
			6).Draw(t, "lines")
		for i := range lines {
			lines[i] = strings.ReplaceAll(lines[i], "\n", "")
		}
		tasks, err := readTasks(strings.NewReader(strings.Join(lines, "\n")), "f", checkAny)
		known := map[string]bool{}
		for _, task := range tasks {
			known[task.ID] = true
		}
		for i, line := range lines {
			named := err != nil && strings.Contains(err.Error(), fmt.Sprintf("f:%d: ", i+1))
			parsed, faults := parseTask([]byte(line), checkAny)
			if is := len(faults) == 0 && known[parsed.ID]; strings.TrimSpace(line) != "" && !named && !is {
				t.Fatalf("line %d, %q, is neither a task nor a mistake: %v", i+1, line, err)
			}
		}
	})
}
