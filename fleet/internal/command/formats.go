package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
	"go.yaml.in/yaml/v3"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/shquote"
)

// The formats of files of tasks. The first is that of package fleet.
const (
	formatTasks    = "tasks"
	formatSWE      = "swe-bench"
	formatTerminal = "terminal-bench"
)

var formats = []string{formatTasks, formatSWE, formatTerminal}

// sweBench makes tasks of instances of SWE-bench.
type sweBench struct {
	repos string // the prefix of the names of repositories
	tests string // a command with {tests}; empty judges nothing
}

// task returns the task of a line, which is an instance as the datasets of SWE-bench have them,
// with all that is wrong with it.
func (s *sweBench) task(line []byte, check func(*fleet.Task) error) (fleet.Task, []error) {
	var in struct {
		ID         string    `json:"instance_id"`
		Repo       string    `json:"repo"`
		Commit     string    `json:"base_commit"`
		Problem    string    `json:"problem_statement"`
		TestPatch  string    `json:"test_patch"`
		FailToPass testNames `json:"FAIL_TO_PASS"`
		PassToPass testNames `json:"PASS_TO_PASS"`
	}
	if err := json.Unmarshal(line, &in); err != nil {
		return fleet.Task{}, []error{fmt.Errorf("is no instance of SWE-bench: %w", err)}
	}
	repos := s.repos
	if !strings.HasSuffix(repos, "/") && !strings.HasSuffix(repos, ":") {
		repos += "/"
	}
	t := fleet.Task{ID: in.ID, Prompt: in.Problem, Repo: &fleet.Repo{URL: repos + in.Repo, Ref: in.Commit},
		Labels: map[string]string{"repo": in.Repo}}
	if s.tests != "" {
		tests := append(in.FailToPass, in.PassToPass...)
		t.Eval = &fleet.Eval{Patch: in.TestPatch,
			Check: strings.ReplaceAll(s.tests, "{tests}", shquote.Words(tests...))}
	}
	return t, faultsOf(check(&t))
}

// isInstance reports whether a line is an instance of SWE-bench.
func isInstance(line []byte) bool {
	var in struct {
		ID string `json:"instance_id"`
	}
	return json.Unmarshal(line, &in) == nil && in.ID != ""
}

// testNames is a list of tests. In datasets it is a JSON array, or a string with one.
type testNames []string

// UnmarshalJSON implements [json.Unmarshaler].
func (n *testNames) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		if data = []byte(text); text == "" { // also null
			return nil
		}
	}
	return json.Unmarshal(data, (*[]string)(n))
}

// terminalBench returns the tasks of a directory with those of Terminal-Bench, each in a directory
// of its own: task.yaml with run-tests.sh, or, since version 2, instruction.md with tests/test.sh.
// A test of the second kind expects to be in a container of its own.
func terminalBench(dir string, check func(*fleet.Task) error) ([]fleet.Task, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var tasks []fleet.Task
	var faults []error
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		t, whole, err := terminalTask(filepath.Join(dir, e.Name()))
		if errors.Is(err, errNoTask) {
			continue
		}
		t.ID = e.Name()
		if err == nil {
			err = check(&t)
		}
		if err == nil && whole && t.Environment == "" {
			err = errWhole
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", filepath.Join(dir, e.Name()), err))
		}
		tasks = append(tasks, t)
	}
	if len(tasks) == 0 {
		return nil, fmt.Errorf("%s has no tasks of Terminal-Bench: directories with task.yaml or instruction.md", dir)
	}
	return tasks, errors.Join(faults...)
}

var (
	// errNoTask says that a directory is not that of a task.
	errNoTask = errors.New("there is no task")
	// errWhole says that the test of a task must not run on this machine.
	errWhole = errors.New("its test writes outside of the workspace, into /tests and /logs: " +
		"name a container with --environment and --environments")
)

// evalDir is the directory in the workspace for the tests of Terminal-Bench.
const evalDir = ".eval"

// aboutTask is what task.yaml says about a task of Terminal-Bench, and task.toml.
type aboutTask struct {
	Instruction string  `yaml:"instruction" toml:"-"`
	Difficulty  string  `yaml:"difficulty" toml:"difficulty"`
	Category    string  `yaml:"category" toml:"category"`
	AgentTime   float64 `yaml:"max_agent_timeout_sec" toml:"-"`
	TestTime    float64 `yaml:"max_test_timeout_sec" toml:"-"`
}

// terminalTask returns the task of a directory, and whether its test takes the whole machine for
// its own.
func terminalTask(dir string) (t fleet.Task, whole bool, err error) {
	t.Eval = new(fleet.Eval)
	var about aboutTask
	data, err := os.ReadFile(filepath.Join(dir, "task.yaml"))
	if err == nil {
		if err = yaml.Unmarshal(data, &about); err != nil {
			return t, false, fmt.Errorf("task.yaml: %w", err)
		}
		t.Eval.Check = "TEST_DIR=$PWD/" + evalDir + "/tests bash " + evalDir + "/run-tests.sh"
	} else if errors.Is(err, fs.ErrNotExist) {
		whole = true
		t.Eval.Check = "mkdir -p /logs/verifier && rm -f /logs/verifier/reward.txt && cp -r " + evalDir +
			"/tests / || exit; bash /tests/test.sh; " + // its exit code means nothing
			`case $(tr -d '[:space:]' </logs/verifier/reward.txt) in (1|1.0) ;; (*) exit 1 ;; esac`
		about, err = aboutWhole(dir)
	}
	if err != nil {
		return t, whole, err
	}
	t.Prompt = about.Instruction
	t.Labels = labelsOf("difficulty", about.Difficulty, "category", about.Category)
	t.Budget.Time, t.Eval.Time = seconds(about.AgentTime), seconds(about.TestTime)
	t.Eval.Files, err = filesBelow(dir, "tests", "run-tests.sh")
	return t, whole, err
}

// aboutWhole reads instruction.md and task.toml.
func aboutWhole(dir string) (about aboutTask, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "instruction.md"))
	if errors.Is(err, fs.ErrNotExist) {
		return about, errNoTask
	}
	if err != nil {
		return about, err
	}
	type limit struct {
		Seconds float64 `toml:"timeout_sec"`
	}
	var settings struct {
		Metadata aboutTask `toml:"metadata"`
		Agent    limit     `toml:"agent"`
		Verifier limit     `toml:"verifier"`
	}
	if _, err := toml.DecodeFile(filepath.Join(dir, "task.toml"), &settings); unlessMissing(err) != nil {
		return about, fmt.Errorf("task.toml: %w", err)
	}
	about = settings.Metadata
	about.Instruction, about.AgentTime, about.TestTime = string(data), settings.Agent.Seconds, settings.Verifier.Seconds
	return about, nil
}

// seconds converts a number of seconds.
func seconds(n float64) fleet.Duration { return fleet.Duration(n * float64(time.Second)) }

// labelsOf returns labels from pairs of a name and a value, without those that have no value. It
// returns nil if there are none.
func labelsOf(pairs ...string) map[string]string {
	labels := map[string]string{}
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			labels[pair[0]] = pair[1]
		}
	}
	if len(labels) == 0 {
		return nil
	}
	return labels
}

// filesBelow returns the files with these names in dir, and those below them, for Eval.Files.
func filesBelow(dir string, names ...string) (map[string]string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() // it was only read
	files := map[string]string{}
	for _, name := range names {
		err := fs.WalkDir(root.FS(), name, func(at string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return unlessMissing(err)
			}
			data, err := root.ReadFile(filepath.FromSlash(at))
			if err == nil && !utf8.Valid(data) {
				err = fmt.Errorf("%s is not a text in UTF-8, as the files of a task are", at)
			}
			files[path.Join(evalDir, at)] = string(data)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// unlessMissing returns err, or nil if it says that a file is missing.
func unlessMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
