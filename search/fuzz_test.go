package search

import (
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

// quoted returns the pattern of a .gitignore that matches one path alone.
func quoted(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if c != '/' {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// plainMatch implements ignorePattern.match by trying everything.
func plainMatch(p ignorePattern, elems []string) bool {
	switch {
	case len(p) == 0:
		return len(elems) == 0
	case p[0].double && len(p) == 1:
		return len(elems) > 0
	case p[0].double:
		return plainMatch(p[1:], elems) || len(elems) > 0 && plainMatch(p, elems[1:])
	}
	return len(elems) > 0 && plainElement(p[0], p[0].tokens, elems[0]) && plainMatch(p[1:], elems[1:])
}

func plainElement(e elementPattern, tokens []token, s string) bool {
	switch {
	case e.never:
		return false
	case e.tokens == nil:
		return s == e.literal
	case len(tokens) == 0:
		return s == ""
	case tokens[0].star:
		return plainElement(e, tokens[1:], s) || s != "" && plainElement(e, tokens, s[1:])
	}
	return s != "" && tokens[0].set.has(s[0]) && plainElement(e, tokens[1:], s[1:])
}

// FuzzC8_Ignore: whatever a .gitignore says, a pattern matches what trying everything finds, a last
// line that names a file decides about it and about no other, and comments and line ends do not
// matter.
func FuzzC8_Ignore(f *testing.F) {
	for _, rules := range []string{
		"*.log\n!keep.log\n", "/a\nb/\n", "**/x/**\na/**/b\n", "[!a-c]?\\*\n", "#c\n\\#c\n\\!x \n",
		"x\\ \ny \n[[:alpha:]\n[]-]\n", "a**b\n***\n*a*a*a\n", "\ufeffx\r\n",
	} {
		f.Add(rules, "a/x/b")
	}
	for _, name := range []string{"x.log", ".log", "log", "a/.log", "x.logs"} {
		f.Add("*.log\n", name)
	}
	f.Fuzz(func(t *testing.T, rules, name string) {
		if len(rules) > 100 || len(name) > 30 || name != path.Clean(name) || strings.ContainsAny(name, "\n\r") ||
			name[0] == '/' || strings.HasPrefix(name, "..") || name == "." {
			return
		}
		ignores := func(rules, name string) bool {
			return Rules{}.with("/", parseRules(rules)).Exclude("/"+name[:len(name)-len(path.Base(name))],
				path.Base(name), false)
		}
		for _, r := range parseRules(rules) {
			if strings.Count(name, "*")+strings.Count(rules, "*") < 8 {
				if got, want := r.pattern.match(name), plainMatch(r.pattern, strings.Split(name, "/")); got != want {
					t.Errorf("%q, %q: %v, want %v", rules, name, got, want)
				}
			}
		}
		before := ignores(rules, name)
		if got := ignores("# c\n\n"+strings.TrimPrefix(rules, "\ufeff")+"\n#\n", name); got != before {
			t.Errorf("with comments %v, without %v", got, before)
		}
		if got := ignores(strings.ReplaceAll(rules, "\n", "\r\n"), name); !strings.Contains(rules, "\r") &&
			got != before {
			t.Errorf("with carriage returns %v, without %v", got, before)
		}
		if !ignores(rules+"\n/"+quoted(name), name) || ignores(rules+"\n!/"+quoted(name), name) {
			t.Errorf("%q does not decide about %q", quoted(name), name)
		}
		if other := name + "x"; ignores(rules+"\n/"+quoted(name), other) != ignores(rules, other) {
			t.Errorf("%q decides about %q", quoted(name), other)
		}
	})
}

// FuzzC9_Glob: no pattern panics, a walk enters the directories of all that matches, and a filter
// with ! is the opposite.
func FuzzC9_Glob(f *testing.F) {
	for _, pattern := range []string{"**/*.go", "*.{ts,tsx}", "src/[a-c]?/**", "{a/b,c}/*", `\*`, "a/**/b", "[!x]*",
		"**", "{,a}b", "[", "{a"} {
		f.Add(pattern, "src/a/b.go")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 50 || len(name) > 50 || strings.Count(pattern, "*") > 8 || name != path.Clean(name) ||
			path.IsAbs(name) || name[0] == '.' || strings.Contains(name, "\x00") || !utf8.ValidString(pattern) {
			return
		}
		dir, base := path.Split(name)
		in := &folder{prefix: "/" + dir, base: 1}
		filter, err := newFilter(pattern)
		if err != nil {
			return
		}
		if pattern != "" && pattern[0] != '!' && filter.broken == nil {
			exclude, err := newFilter("!" + pattern)
			if err != nil || exclude.selects(in, base, "/") == filter.selects(in, base, "/") {
				t.Errorf("!%s selects what %s selects: %q (%v)", pattern, pattern, name, err)
			}
		}
		// a class may match a slash, for which no directory is entered but behind **
		if !doublestar.ValidatePattern(pattern) || strings.Contains(pattern, "[") ||
			!doublestar.MatchUnvalidated(pattern, name) {
			return
		}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if !mayContain(pattern, dir) {
				t.Errorf("%s: %s is not entered for %s", pattern, dir, name)
			}
		}
	})
}
