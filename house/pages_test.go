package house_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestQ4_EveryPageIsInTheIndex checks that docs/README.md has a link to each page below docs.
func TestQ4_EveryPageIsInTheIndex(t *testing.T) {
	listed := map[string]bool{"docs/README.md": true}
	for _, l := range readPage(t, "docs/README.md").links {
		listed[filepath.ToSlash(filepath.Join("docs", l.file))] = true
	}
	for _, name := range pageNames(t) {
		if strings.HasPrefix(name, "docs/") && !listed[name] {
			t.Errorf("%s is not in docs/README.md: add a line for it there", name)
		}
	}
}

// TestQ4_LinksResolve checks that each relative link of each page leads to a file, and its anchor
// to a heading there.
func TestQ4_LinksResolve(t *testing.T) {
	pages := map[string]page{}
	for _, name := range pageNames(t) {
		pages[name] = readPage(t, name)
	}
	for name, p := range pages {
		for _, l := range p.links {
			target := name
			if l.file != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(name), l.file))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s:%d: %s does not exist", name, l.line, target)
				continue
			}
			if to, ok := pages[target]; ok && l.anchor != "" && !to.anchors[l.anchor] {
				t.Errorf("%s:%d: %s has no heading with the anchor #%s", name, l.line, target, l.anchor)
			}
		}
	}
}

// pageNames returns the Markdown files of the repository.
func pageNames(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") &&
			name != "." && name != ".github"):
			return filepath.SkipDir
		case filepath.Ext(name) == ".md":
			names = append(names, filepath.ToSlash(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// A page holds what the tests look at in a Markdown file.
type page struct {
	links   []link
	anchors map[string]bool // of its headings, as GitHub makes them
	blocks  []block
	spans   []span
}

// A link leads to a file, relative to its page, or to an anchor of its own page if file is empty.
type link struct {
	line         int
	file, anchor string
}

// A block holds a fenced block of code.
type block struct {
	line     int // of its first line of code
	language string
	text     string
}

// A span holds code within a line.
type span struct {
	line int
	text string
}

var (
	linkForm    = regexp.MustCompile(`\]\(([^()\s]+)\)|(?:src|href)="([^"]+)"|^\[[^\]]+\]: (\S+)`)
	codeSpan    = regexp.MustCompile("``.+?``|`[^`]*`")
	elsewhere   = regexp.MustCompile(`^[a-z]+:`)
	headingForm = regexp.MustCompile(`^#{1,6} (.*)`)
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	linkText    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// readPage reads a Markdown file.
func readPage(t *testing.T, name string) page {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	p := page{anchors: map[string]bool{}}
	var open *block
	for i, line := range strings.Split(string(data), "\n") {
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && open == nil:
			open = &block{line: i + 2, language: fence}
		case isFence:
			p.blocks = append(p.blocks, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		default:
			p.addLine(i+1, line)
		}
	}
	if open != nil {
		t.Errorf("%s:%d: the block of code does not end", name, open.line-1)
	}
	return p
}

// addLine adds the links and the heading of a line that is not code.
func (p *page) addLine(number int, line string) {
	if m := headingForm.FindStringSubmatch(line); m != nil {
		base := notInAnchor.ReplaceAllString(strings.ToLower(linkText.ReplaceAllString(m[1], "$1")), "")
		anchor := strings.ReplaceAll(base, " ", "-")
		for i := 1; p.anchors[anchor]; i++ {
			anchor = fmt.Sprintf("%s-%d", strings.ReplaceAll(base, " ", "-"), i)
		}
		p.anchors[anchor] = true
	}
	for _, code := range codeSpan.FindAllString(line, -1) {
		p.spans = append(p.spans, span{number, strings.Trim(code, "`")})
	}
	for _, m := range linkForm.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, ""), -1) {
		to := m[1] + m[2] + m[3]
		if elsewhere.MatchString(to) {
			continue
		}
		file, anchor, _ := strings.Cut(to, "#")
		p.links = append(p.links, link{number, file, anchor})
	}
}

// TestQ4_PagesNamedInCodeExist checks the pages below docs that comments, help and messages name.
func TestQ4_PagesNamedInCodeExist(t *testing.T) {
	page := regexp.MustCompile(`[^@\w/](docs/[\w/-]+\.md)\b`) // @docs/x.md is an example of an import
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range page.FindAllStringSubmatch(string(data), -1) {
			if _, err := os.Stat(m[1]); err != nil {
				t.Errorf("%s names %s, which does not exist", path, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestQ4_FilesNamedInPagesExist checks the files of the repository that pages name in code spans,
// such as agent/next.go or profile/*/native_*.go.
func TestQ4_FilesNamedInPagesExist(t *testing.T) {
	form := regexp.MustCompile(`^([a-z]+)/[\w./*-]+\.(go|txtar|json|js|sh|py)$`)
	for _, name := range pageNames(t) {
		for _, s := range readPage(t, name).spans {
			m := form.FindStringSubmatch(s.text)
			if m == nil || name == "CHANGELOG.md" {
				continue
			}
			if _, err := os.Stat(m[1]); err != nil { // not of this repository
				continue
			}
			found, err := filepath.Glob(s.text)
			if err != nil || len(found) == 0 {
				t.Errorf("%s:%d: %s does not exist", name, s.line, s.text)
			}
		}
	}
}
