package shell_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"testing"

	"github.com/attractor-go/attractor/rules/shell"
)

// otherwise maps cases of the corpus to why they are judged differently here.
var otherwise = map[string]string{
	"r_prompt_transform": "the command is listed too; it is unclear, so it asks",
	"redir_dup":          "copies of descriptors name no file, so they are not listed; exec itself is unclear",
	"redir_heredoc":      "a here-document names no file",
	"redir_herestr":      "a here-string names no file",
	"wrap_pwsh":          "PowerShell is no POSIX shell, and pwsh is a program like others: it asks",
}

// TestL1_ParseCorpus reads the cases of the corpus shell_safety that Parse alone answers. Package
// rules reads the others.
func TestL1_ParseCorpus(t *testing.T) {
	data, err := os.ReadFile("../../../shared/corpora/shell_safety/cases.jsonl")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the shared corpora are not here: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for line := range bytes.Lines(data) {
		var c struct {
			ID, Kind, Command string
			Decision          json.RawMessage
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		s := shell.Parse(c.Command, shell.Place{Dir: "/w"})
		var got any
		switch c.Kind {
		case "command_roots":
			programs := []string{}
			for _, cmd := range s.Commands {
				programs = append(programs, cmd.Words[0])
			}
			got = programs
		case "has_redirection":
			got = slices.ContainsFunc(s.Commands, func(c shell.Command) bool { return len(c.Reads)+len(c.Writes) > 0 })
		case "strip_wrapper":
			got = s.Commands[len(s.Commands)-1].Text
		default:
			continue
		}
		counts[c.Kind]++
		text, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		same := bytes.Equal(compact(t, c.Decision), text)
		if why, differs := otherwise[c.ID]; same == differs {
			t.Errorf("%s: %s gives %s, the corpus says %s %s", c.ID, c.Command, text, c.Decision, why)
		}
		if s.Unclear != "" {
			t.Errorf("%s: %s", c.ID, s.Unclear)
		}
	}
	t.Log(counts)
}

// compact returns JSON as encoding/json writes it.
func compact(t *testing.T, data []byte) []byte {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
