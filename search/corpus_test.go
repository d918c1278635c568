package search

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
)

const corpus = "../../shared/corpora/glob_gitignore/cases.jsonl"

// corpusCase holds one line of the corpus.
type corpusCase struct {
	ID, Kind, Note string

	// Kind gitignore
	Files   map[string]string
	IsDir   bool `json:"is_dir"`
	Ignored bool

	// The kinds of glob
	Pattern    string
	Match      bool
	BadPattern bool `json:"bad_pattern"`

	Path string
}

// decidedDifferently holds the cases in which our answer is the opposite of git's on purpose.
func decidedDifferently() map[string]string {
	return map[string]string{
		"gi_doublestar_glued__e663a1": "x**/y: git's manual says that ** beside other characters is a plain *, which " +
			"does not match x/a/y, and ripgrep does so. Git itself cuts off the literal x before it matches and " +
			"takes the rest for a leading **/.",
	}
}

func corpusCases(t *testing.T, kind string) []corpusCase {
	t.Helper()
	f, err := os.Open(corpus)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the corpus is not here: %v", err)
	}
	must(t, err)
	defer func() { must(t, f.Close()) }()
	var cases []corpusCase
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c corpusCase
		must(t, json.Unmarshal(lines.Bytes(), &c))
		if c.Kind == kind {
			cases = append(cases, c)
		}
	}
	if len(cases) == 0 {
		t.Fatalf("no cases of kind %s in %s", kind, corpus)
	}
	return cases
}

// TestC8_GitignoreCorpus walks a real tree for each case. The walk must omit a file exactly if git
// ignores it.
func TestC8_GitignoreCorpus(t *testing.T) {
	for _, c := range corpusCases(t, "gitignore") {
		t.Run(c.ID, func(t *testing.T) {
			files := map[string]string{}
			for name, text := range c.Files {
				files[name] = text
			}
			probe := c.Path
			if c.IsDir {
				probe = path.Join(c.Path, "probe") // the walk must not enter an ignored directory
			}
			if _, ok := files[probe]; !ok {
				files[probe] = ""
			}
			e := plant(t, files)
			found := slices.Contains(walked(t, e, ""), probe)
			if reason, ok := decidedDifferently()[c.ID]; ok {
				if found != c.Ignored {
					t.Errorf("decided to differ, but does not; take it off the list: %s", reason)
				}
				return
			}
			if found == c.Ignored {
				t.Errorf("%s (%s): ignored %v, git says %v; rules %q", c.Path, c.Note, !found, c.Ignored, c.Files)
			}
		})
	}
}

// TestC8_GitPatternCorpus runs git's own cases for the wildcard patterns of .gitignore files.
func TestC8_GitPatternCorpus(t *testing.T) {
	for _, c := range corpusCases(t, "glob_git") {
		t.Run(c.ID, func(t *testing.T) {
			if got := parseIgnorePattern(c.Pattern).match(c.Path); got != c.Match {
				t.Errorf("pattern %q, path %q: match %v, git says %v", c.Pattern, c.Path, got, c.Match)
			}
		})
	}
}

// TestC9_GlobCorpus runs the cases for the glob tool's patterns.
func TestC9_GlobCorpus(t *testing.T) {
	for _, c := range corpusCases(t, "glob_doublestar") {
		t.Run(c.ID, func(t *testing.T) {
			if valid := doublestar.ValidatePattern(c.Pattern); valid == c.BadPattern {
				t.Fatalf("pattern %q: valid %v, want %v", c.Pattern, valid, !c.BadPattern)
			}
			if c.BadPattern {
				return
			}
			if got := doublestar.MatchUnvalidated(c.Pattern, c.Path); got != c.Match {
				t.Errorf("pattern %q, path %q: match %v, want %v", c.Pattern, c.Path, got, c.Match)
			}
			if dir := path.Dir(c.Path); c.Match && dir != "." && dir != "/" && !mayContain(c.Pattern, dir) {
				t.Errorf("pattern %q: the walk would not enter %q, where %q is", c.Pattern, dir, c.Path)
			}
		})
	}
}
