package instructions_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/instructions"
	"github.com/attractor-go/attractor/llm/llmtest"
)

// counting counts what is done with files.
type counting struct {
	env.Base
	looked, listed int
}

func (c *counting) Stat(ctx context.Context, name string) (env.Info, error) {
	c.looked++
	return c.Base.Stat(ctx, name)
}

func (c *counting) ReadDir(ctx context.Context, name string) ([]env.Info, error) {
	c.listed++
	return c.Base.ReadDir(ctx, name)
}

// counted returns the documents of a session in the tree, and how much was read for them.
func (w *tree) counted(o instructions.Options) (*instructions.Found, *counting) {
	w.Helper()
	e, err := env.NewLocal(filepath.FromSlash(w.dir), env.LocalOptions{})
	if err != nil {
		w.Fatal(err)
	}
	c := &counting{Base: env.Base{Environment: e}}
	found := instructions.Find(w.Context(), c, w.dir, o)
	if err := e.Close(); err != nil {
		w.Error(err)
	}
	return found, c
}

// Directories of rules that link to each other are listed once each.
func TestM10_RulesThatLinkInCircles(t *testing.T) {
	w := newTree(t, ".claude/rules/x.md", "RULE")
	for i := range 5 {
		w.link(".", fmt.Sprintf(".claude/rules/%d", i))
		w.link("../..", fmt.Sprintf(".claude/rules/up%d", i))
	}
	found, c := w.counted(claude())
	if c.listed > 50 || !strings.Contains(found.Text, "RULE") || len(found.Documents) != 1 {
		t.Errorf("%d directories were listed for\n%s", c.listed, w.listed(found))
	}
}

// The files that documents import are looked for a limited number of times, also those that are not
// there.
func TestM10_ImportsAreLimited(t *testing.T) {
	var top, names strings.Builder
	for i := range 150 {
		fmt.Fprintf(&names, "@name%d\n", i)
	}
	w := newTree(t)
	for i := range 20 {
		fmt.Fprintf(&top, "@%d.md\n", i)
		w.put(fmt.Sprintf("%d.md", i), fmt.Sprintf("FILE %d\n%s", i, names.String()))
	}
	w.put("AGENTS.md", top.String())
	found, c := w.counted(instructions.Options{})
	if c.looked > 1_100 {
		t.Errorf("%d files were looked for", c.looked)
	}
	w.expect("mistakes", w.told(found),
		"6.md, line 95: @name93 is not imported, and what follows neither: there are more than 1000 imports\n")
}

// A file that is no text is no document. UTF-16, in which some editors write, is told.
func TestM10_DocumentsAreText(t *testing.T) {
	w := newTree(t, "AGENTS.md", "@a.png @ok.md", "a.png", "\x89PNG\x00\x00\x01PIXELS", "ok.md", "FINE", "CLAUDE.md",
		"\xff\xfeH\x00I\x00")
	found := w.find("", claude())
	lacks(t, found.Text, "PIXELS", "H", `\u{0}`)
	has(t, found.Text, "FINE")
	w.expect("mistakes", w.told(found),
		"AGENTS.md, line 1: @a.png is not imported: it is not text in UTF-8\nCLAUDE.md: it is not used: it is not "+
			"text in UTF-8\n")
}

// On a file system that ignores case, .GIT is git's directory.
func TestM10_GitsDirectoryInCapitals(t *testing.T) {
	w := newTree(t, "sub/.GIT/config", "PASSWORD", "sub/.GIT/AGENTS.md", "PASSWORD", "sub/.GIT/x", "")
	w.link("sub/.GIT/config", "AGENTS.md")
	requests := w.works("").run(llmtest.Calls(read("sub/.GIT/x")), llmtest.Text("done"))
	for _, r := range requests {
		lacks(t, all(r), "PASSWORD")
	}
}

// The patterns of all rules in a directory are limited, so that a file is compared with few.
func TestM10_PatternsAreLimited(t *testing.T) {
	w := newTree(t)
	for i := range 40 {
		w.put(fmt.Sprintf(".claude/rules/%02d.md", i),
			fmt.Sprintf("---\npaths: \"%d{a,b}{a,b}{a,b}{a,b}{a,b}\"\n---\nRULE %d", i, i))
	}
	found := w.find("", claude())
	later := 0
	for _, d := range found.Documents {
		if d.State == instructions.Later {
			later++
		}
	}
	if later != 31 { // of 32 patterns each
		t.Errorf("%d rules have patterns", later)
	}
	has(t, w.told(found), ".claude/rules/31.md, line 2: the pattern 31{a,b}{a,b}{a,b}{a,b}{a,b} and those behind it "+
		"are not used: the rules in ", " have more than 1000\n")
	lacks(t, found.Text, "RULE 0\n")
}

// A directory whose name is not UTF-8 has documents like others, which come once.
func TestM10_DocumentsBelowStrangeNames(t *testing.T) {
	if runtime.GOOS == "darwin" {
		t.Skip("the names of files are UTF-8 here")
	}
	w := newTree(t, "\xff/a/AGENTS.md", "OF A", "\xff/a/x", "")
	requests := w.works("\xff").run(llmtest.Calls(read("a/x")), llmtest.Calls(read("a/x")), llmtest.Text("done"))
	if n := strings.Count(all(requests[2]), "OF A"); n != 1 {
		t.Errorf("the document is there %d times", n)
	}
}
