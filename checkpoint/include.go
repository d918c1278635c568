package checkpoint

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/attractor-go/attractor/search"
)

// included says which ignored files are recorded nevertheless.
type included struct {
	matched []search.Rules // each matches what one pattern names
	leading []search.Rules // each matches directories above what a pattern may match
}

// newIncluded returns the meaning of patterns, given the absolute path of the working directory.
// The error wraps fs.ErrInvalid if one can match nothing.
func newIncluded(dir string, patterns []string) (in included, err error) {
	for _, pattern := range patterns {
		if strings.TrimSpace(pattern) == "" {
			continue
		}
		rules, ok := search.NewRules(dir, pattern)
		if !ok {
			return in, fmt.Errorf("checkpoint: the pattern %q of RecorderOptions.Include matches no file; put a \\ before a # or ! that a name begins with: %w",
				pattern, fs.ErrInvalid)
		}
		in.matched = append(in.matched, rules)
		elems := strings.Split(strings.Trim(pattern, "/"), "/")
		for i := 1; i < len(elems); i++ {
			if rules, ok := search.NewRules(dir, "/"+strings.Join(elems[:i], "/")+"/"); ok {
				in.leading = append(in.leading, rules)
			}
		}
	}
	return in, nil
}

// matches reports whether a pattern names a file, given the path of its directory with a slash at
// the end.
func (in *included) matches(prefix, name string, isDir bool) bool {
	return anyOf(in.matched, prefix, name, isDir)
}

// leads reports whether a pattern may name something below a directory.
func (in *included) leads(prefix, name string) bool { return anyOf(in.leading, prefix, name, true) }

func anyOf(all []search.Rules, prefix, name string, isDir bool) bool {
	for _, rules := range all {
		if rules.Exclude(prefix, name, isDir) {
			return true
		}
	}
	return false
}
