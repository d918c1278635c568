package coding

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
)

const editCorpus = "../../../shared/corpora/edit_matching/cases.jsonl"

// editCase holds one line of the corpus.
type editCase struct {
	ID, Old, New, Outcome, Policy string
	Content, Expected             json.RawMessage
	ReplaceAll                    bool `json:"replace_all"`
}

// corpusText decodes a text, or the recipe for a long one.
func corpusText(t *testing.T, raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var recipe struct {
		Repeat []any
		Suffix string
	}
	if err := json.Unmarshal(raw, &recipe); err != nil {
		t.Fatal(err)
	}
	return strings.Repeat(recipe.Repeat[0].(string), int(recipe.Repeat[1].(float64))) + recipe.Suffix
}

// decidedDifferently returns the cases of the corpus that we decide differently on purpose.
func decidedDifferently() map[string]string {
	const letters = "letters and punctuation are not overlooked: the text may be meant for another place, or the " +
		"file have changed"
	return map[string]string{
		"gem_omission_rejected": "what the new text says is the model's business; a file may well have (rest of " +
			"methods ...) in it",
		"oc_create": "an empty old_string is an error, also for a file that is not there: write_file " +
			"creates files",
		"oc_bom_overwrite":        "an empty old_string is an error: write_file replaces files",
		"gem_fuzzy_missing_comma": letters,
		"gem_fuzzy_rebase":        letters,
		"gem_flex_ws": "no one rule turns the indentation into the file's, so that the new text's could " +
			"only be guessed",
		"gem_blank_before": "white space within a line is not overlooked, and no one rule turns the " +
			"indentation into the file's",
		"ai_blank_leading": "an empty line that the file does not have is not overlooked: whether the new one " +
			"is wanted cannot be told",
		"pi_nfkc": "an accent of its own and an accented letter are different texts; only " +
			"punctuation is overlooked, and full-width forms",
	}
}

// TestC5_EditCorpus checks what all peers agree on, our own rules, and our decision about what
// single peers do.
func TestC5_EditCorpus(t *testing.T) {
	f, err := os.Open(editCorpus)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the corpus is not here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c editCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		t.Run(c.ID, func(t *testing.T) {
			content := corpusText(t, c.Content)
			e := edit{old: c.Old, new: c.New, all: c.ReplaceAll}
			got, replaced := content, false
			if m := e.match(content); (Dialect{}).check(e) == nil && (len(m.places) == 1 || len(m.places) > 1 &&
				e.all) {
				edited, _ := e.apply(content, m.places)
				got = string(edited)
				replaced = true
			}
			if reason, ok := decidedDifferently()[c.ID]; ok {
				if replaced == (c.Outcome == "replaced") {
					t.Errorf("replaced %v, though decided otherwise: %s", replaced, reason)
				}
				return
			}
			if want := corpusText(t, c.Expected); got != want || replaced != (c.Outcome == "replaced") {
				t.Errorf("replaced %v: %.200q, want %.200q", replaced, got, want)
			}
		})
	}
}

// seemsLike returns a text without the differences that any matcher ignores.
func seemsLike(text string) string {
	lines := strings.Split(strings.Map(plain, toLF(text)), "\n")
	for i, l := range lines {
		lines[i] = strings.Trim(l, " \t\r")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// checkMatch checks every edit: all exact occurrences are found and exclude laxer matchers, every
// match seems like the old text, nothing outside it changes, and the new text is in its place.
func checkMatch(t interface{ Fatalf(string, ...any) }, content string, e edit) {
	if (Dialect{}).check(e) != nil {
		return
	}
	m := e.match(content)
	exact := strings.Count(toLF(content), toLF(e.old))
	if (m.how == "") != (exact > 0 || len(m.places) == 0) {
		t.Fatalf("%d exact occurrences, %d matches, how %q", exact, len(m.places), m.how)
	}
	if m.how == "" && (e.all && len(m.places) != exact || len(m.places) < exact) {
		t.Fatalf("%d matches, want %d", len(m.places), exact)
	}
	for i, p := range m.places {
		matched := content[p.start:p.end]
		if m.how == "" && (toLF(matched) != toLF(e.old) || p.text != toLF(e.new)) ||
			seemsLike(matched) != seemsLike(e.old) {
			t.Fatalf("matched %q and wants %q", matched, p.text)
		}
		if !e.all && i > 0 && p.start <= m.places[i-1].start || e.all && i > 0 && p.start < m.places[i-1].end {
			t.Fatalf("places %v", m.places)
		}
		if seemsLike(p.text) != seemsLike(e.new) {
			t.Fatalf("%q in place of %q", p.text, e.new)
		}
	}
	if len(m.places) == 0 || len(m.places) > 1 && !e.all {
		return
	}
	whole, placed := e.apply(content, m.places)
	edited := string(whole)
	restored, end := "", 0
	for i, p := range placed {
		if toLF(edited[p.start:p.end]) != toLF(m.places[i].text) {
			t.Fatalf("placed %q", edited[p.start:p.end])
		}
		restored += edited[end:p.start] + content[m.places[i].start:m.places[i].end]
		end = p.end
	}
	if restored += edited[end:]; restored != content {
		t.Fatalf("%q became %q", content, edited)
	}
}

func TestC5_TheRestOfTheFileStaysAsItWas(t *testing.T) {
	for name, pieces := range map[string][]string{
		"line ends":   {"a", "b", "\n", "\r\n", "ä"},
		"white space": {"a", "\n", "\n", "\r\n", " ", "    ", "\t"},
		"typography":  {"a", "\n", " ", "\u00a0", "-", "\u2014", "\uff0d", "\xff", "\uFFFD"},
	} {
		t.Run(name, func(t *testing.T) {
			seed.Check(t, func(t *rapid.T) {
				text := func(label string) string {
					return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, label), "")
				}
				checkMatch(t, text("content"),
					edit{old: text("old"), new: text("new"), all: rapid.Bool().Draw(t, "all")})
			})
		})
	}
}

func FuzzC5_Match(f *testing.F) {
	f.Add("a\r\n\tb \n", "a\n    b", "c", false)
	f.Add("  x\n  x\n", "\tx\n", "\ty\n", true)
	f.Add("\u201chi\u201d \u2014\xff\n", "\"hi\" -", "\"ho\"", false)
	f.Fuzz(func(t *testing.T, content, old, fresh string, all bool) {
		checkMatch(t, content, edit{old: old, new: fresh, all: all})
	})
}
