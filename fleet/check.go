package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/attractor-go/attractor/fleet/internal/repourl"
	"github.com/attractor-go/attractor/journal"
)

// The bounds of a task. A whole task fits into one message of any engine.
const (
	mostTask     = 512 << 10 // bytes of JSON
	mostLabels   = 64
	mostLabelKey = 128  // bytes
	mostLabel    = 1024 // bytes
	mostPatterns = 100
	mostChecks   = 20
	mostName     = 1024 // bytes of a path, a URL or another name
)

// Check returns an error that names every invalid field, or nil. A repository is given by an
// https:// or ssh:// URL, or as user@host:path.
func (t Task) Check() error {
	var errs []error
	bad := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf(field+": "+format, args...))
	}
	if err := journal.CheckID(t.ID); err != nil {
		bad("id", "%w", err)
	}
	switch {
	case strings.TrimSpace(t.Prompt) == "":
		bad("prompt", "it is empty: say what is to be done")
	case !utf8.ValidString(t.Prompt):
		bad("prompt", "it is not UTF-8")
	}
	if t.Repo != nil && t.Dir != "" {
		bad("dir", "the task has a repo, too: give one of them")
	}
	if t.Dir != "" && !filepath.IsAbs(t.Dir) {
		bad("dir", "%q is not an absolute path", t.Dir)
	}
	if t.Repo != nil {
		t.Repo.check(bad)
	}
	t.checkNames(bad)
	t.Agent.check(bad)
	if t.Eval != nil {
		t.Eval.check(bad)
		if t.Dir != "" && t.Eval.Patch != "" {
			bad("eval.patch", "it would undo what is not committed in dir: name the repo, which is cloned")
		}
	}
	if b := t.Budget; b.Tokens < 0 || b.USD < 0 || b.Time < 0 {
		bad("budget", "a limit is negative; 0 means none")
	}
	if data, err := json.Marshal(t); err != nil {
		bad("task", "%w", err)
	} else if len(data) > mostTask {
		bad("task", "it has %d bytes of JSON, and may have %d: put long texts into files of the repository", len(data),
			mostTask)
	}
	return errors.Join(errs...)
}

// checkNames checks names, patterns and labels.
func (t Task) checkNames(bad func(field, format string, args ...any)) {
	checkName(bad, "tenant", t.Tenant)
	checkName(bad, "dir", t.Dir)
	checkName(bad, "environment", t.Environment)
	checkPatterns(bad, "include", t.Include)
	checkPatterns(bad, "artifacts", t.Artifacts)
	if len(t.Labels) > mostLabels {
		bad("labels", "it has %d labels, and may have %d", len(t.Labels), mostLabels)
	}
	for key, value := range t.Labels {
		if key == "" || len(key) > mostLabelKey || len(value) > mostLabel || !utf8.ValidString(key) ||
			!utf8.ValidString(value) {
			bad("labels", "the label %.40q: a key has 1 to %d bytes and a value at most %d, both of UTF-8", key,
				mostLabelKey, mostLabel)
		}
	}
}

// checkName checks a name that may be empty.
func checkName(bad func(field, format string, args ...any), field, name string) {
	if problem := nameProblem(name); problem != "" {
		bad(field, "%s", problem)
	}
}

// checkPatterns checks patterns of files.
func checkPatterns(bad func(field, format string, args ...any), field string, patterns []string) {
	if len(patterns) > mostPatterns {
		bad(field, "it has %d patterns, and may have %d", len(patterns), mostPatterns)
	}
	for _, p := range patterns {
		switch problem := nameProblem(p); {
		case strings.TrimSpace(p) == "":
			bad(field, "a pattern is empty")
		case problem != "":
			bad(field, "a pattern is invalid: %s", problem)
		case field == "artifacts" && !doublestar.ValidatePattern(p):
			bad(field, "%q is not a pattern such as dist/** or *.log", p)
		}
	}
}

// nameProblem returns why a text cannot be a name, or "".
func nameProblem(name string) string {
	switch {
	case len(name) > mostName:
		return fmt.Sprintf("it has %d bytes, and may have %d", len(name), mostName)
	case !utf8.ValidString(name), strings.ContainsFunc(name, unicode.IsControl):
		return "it has control characters, or is not UTF-8"
	}
	return ""
}

// check checks what a repository is cloned from.
func (r *Repo) check(bad func(field, format string, args ...any)) {
	if _, err := repourl.Parse(r.URL, false); err != nil {
		bad("repo.url", "%w", err)
	}
	if err := repourl.CheckRef(r.Ref); err != nil {
		bad("repo.ref", "%w", err)
	}
	checkName(bad, "repo.credential", r.Credential)
}

// check checks the description of an agent.
func (s Spec) check(bad func(field, format string, args ...any)) {
	if s.MaxTurns < 0 {
		bad("agent.max_turns", "%d is negative; 0 means the worker's bound", s.MaxTurns)
	}
	var schema map[string]json.RawMessage
	if s.Schema != nil && json.Unmarshal(s.Schema, &schema) != nil {
		bad("agent.schema", "it is not a JSON object")
	}
	if len(s.Checks) > mostChecks {
		bad("agent.checks", "it has %d commands, and may have %d", len(s.Checks), mostChecks)
	}
	for _, command := range s.Checks {
		if strings.TrimSpace(command) == "" {
			bad("agent.checks", "a command is empty")
		}
	}
	checkName(bad, "agent.profile", s.Profile)
	checkName(bad, "agent.provider", s.Provider)
	checkName(bad, "agent.model", s.Model)
	checkName(bad, "agent.effort", s.Effort)
}
