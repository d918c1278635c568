package rules_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/tool"
)

// safetyCase is a case of the corpus shell_safety about the built-in table.
type safetyCase struct {
	ID, Kind, Command, Note string
	Argv                    []string
	Decision                any
}

// script returns the case as a script.
func (c *safetyCase) script() string {
	if c.Argv == nil {
		return c.Command
	}
	var words []string
	for _, w := range c.Argv {
		words = append(words, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
	}
	return strings.Join(words, " ")
}

// TestL2_SafetyCorpus checks the built-in table: no command that the corpus wants asked about is
// allowed without rules, and nine of ten that it takes for safe run without a question. The git
// commands that it wants asked about are judged outside of a repository, as they stand; in a
// repository that names no program they are allowed.
func TestL2_SafetyCorpus(t *testing.T) {
	data, err := os.ReadFile("../../shared/corpora/shell_safety/cases.jsonl")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the shared corpora are not here: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	p := newProject(t, "file.txt", "Cargo.toml", "files")
	rules := p.load(`{}`)
	safe, allowed, read := 0, 0, 0
	for line := range bytes.Lines(data) {
		var c safetyCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if c.Kind != "known_safe" && c.Kind != "dangerous" && c.Kind != "must_not_auto_approve" {
			continue // read by other tests of this package and of rules/shell
		}
		read++
		d := p.command(rules, c.script())
		if c.Decision == "auto_approve" {
			safe++
			if d.Verdict == tool.Allow {
				allowed++
			} else {
				t.Logf("%s: %s asks: %s", c.ID, c.script(), d.Reason)
			}
			continue
		}
		if d.Verdict == tool.Allow {
			t.Errorf("%s: %s is allowed; the corpus says %v %s", c.ID, c.script(), c.Decision, c.Note)
		}
	}
	if allowed*10 < safe*9 || safe == 0 {
		t.Errorf("%d of %d safe commands are allowed", allowed, safe)
	}
	t.Logf("%d cases; %d of %d safe ones run without a question", read, allowed, safe)
}
