package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Refusal is something that the sandbox does not let commands do, and that a command seems to have
// tried.
type Refusal struct {
	// Path is the file that it could not use, without symbolic links. It is empty for the network.
	Path string
	// Why is a sentence for the model.
	Why string
}

const (
	maxLooked   = 64 << 10 // the end of an output that Refusals looks at
	maxRefusals = 5
)

// Refusals returns what the sandbox refused to a command, as far as its output shows it. dir is the
// directory in which it ran, and failed says that it failed. Each error in the output is compared
// with what the sandbox permits and with what is there outside, so an error that has another cause
// is not among them.
func (s *Sandbox) Refusals(dir string, output []byte, failed bool) (list []Refusal) {
	if s.options.Level == Off {
		return nil
	}
	if cut := len(output) - maxLooked; cut > 0 {
		output = output[cut:]
	}
	for line := range bytes.Lines(output) {
		r, ok := s.refusal(dir, string(line), failed)
		if ok && !slices.Contains(list, r) {
			list = append(list, r)
		}
		if len(list) == maxRefusals {
			break
		}
	}
	return list
}

// phrases holds the words of errors that a sandbox causes.
var phrases = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(?i)(read-only file system|permission denied|operation not permitted|device or resource busy|no such file or directory|is a directory)|` +
			`(could not resolve|name resolution|name or service not known|\benotfound\b|\beai_again\b|no such host|network is unreachable|\benetunreach\b)`)
})

// inQuotes finds names in quotes.
var inQuotes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("['\"`‘“]([^'\"`’”]+)['\"`’”]") })

// refusal returns what a line of an output says that the sandbox refused.
func (s *Sandbox) refusal(dir, line string, failed bool) (Refusal, bool) {
	at := phrases().FindStringSubmatchIndex(line)
	if at == nil {
		return Refusal{}, false
	}
	if at[2] < 0 {
		return s.noNetwork()
	}
	phrase := strings.ToLower(line[at[2]:at[3]])
	if !failed && !strings.HasPrefix(phrase, "read-only") {
		return Refusal{}, false // programs look for files that are not there, and go on
	}
	for _, name := range named(line[:at[2]], line[at[3]:]) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if r, ok := s.refused(filepath.Clean(name), phrase); ok {
			return r, true
		}
	}
	return Refusal{}, false
}

// noNetwork returns the refusal of the network, if there is none for commands.
func (s *Sandbox) noNetwork() (Refusal, bool) {
	if s.options.Network || len(s.options.AllowHosts) > 0 { // which hosts were refused is known; see RefusedHosts
		return Refusal{}, false
	}
	return Refusal{Why: s.subject() + " no network."}, true
}

// subject begins sentences about what commands have.
func (s *Sandbox) subject() string {
	if s.options.Level == Observe {
		return "Commands that run without a question have"
	}
	return "Commands in the sandbox have"
}

// hidden returns the refusal of a file whose nearest visible directory shows nothing of it.
func (s *Sandbox) hidden(name, part string) Refusal {
	if s.options.Level == Observe {
		return Refusal{name, fmt.Sprintf("Commands that run without a question cannot read %s.", part)}
	}
	return Refusal{name, fmt.Sprintf("The sandbox does not show %s to commands; it is there outside.", part)}
}

// onlyRead returns the refusal to change a file.
func (s *Sandbox) onlyRead(name string) Refusal {
	if s.options.Level == Observe {
		return Refusal{name, fmt.Sprintf("Commands that run without a question cannot change %s.", name)}
	}
	return Refusal{name, fmt.Sprintf("The sandbox lets commands only read %s.", name)}
}

// named returns the names of files in the parts of a line before and after an error: those in
// quotes, and the words of what stands next to it.
func named(before, after string) (names []string) {
	for _, part := range []string{before, after} {
		for _, m := range inQuotes().FindAllStringSubmatch(part, -1) {
			names = append(names, m[1])
		}
	}
	before = strings.TrimRight(before, " :(-[")
	if i := strings.LastIndex(before, ": "); i >= 0 {
		before = before[i+2:]
	}
	// of dash and busybox
	for _, verb := range []string{"cannot create ", "cannot open ", "can't create ", "can't open "} {
		before = strings.TrimPrefix(before, verb)
	}
	if name := strings.TrimSpace(before); name != "" {
		names = append(names, name) // with blanks in it
	}
	for word := range strings.FieldsSeq(before) {
		if strings.Contains(word, "/") {
			names = append(names, strings.Trim(word, `'"`+"`()[],:"))
		}
	}
	return names
}

// refused compares an error about a file with what the sandbox permits and with the file outside.
func (s *Sandbox) refused(name, phrase string) (Refusal, bool) {
	real, exists := resolved(name)
	parent := filepath.Dir(real)
	if strings.ContainsAny(real, "\x00\n") || strings.HasPrefix(real, "/proc/") || strings.HasPrefix(real, "/dev/") {
		return Refusal{}, false
	}
	visible, writable := s.sees(real)
	absent := phrase == "no such file or directory"
	denied := phrase == "permission denied" || phrase == "operation not permitted"
	// bubblewrap's refusals have other words
	byLandlock := s.options.Level == WorkspaceWeak || s.options.Level == Observe
	switch {
	case !visible && exists && (absent || denied):
		return s.hidden(real, real), true
	case !visible && !exists && (absent || denied) && isDir(parent):
		if seen, _ := s.sees(parent); seen || parent == "/" {
			return Refusal{}, false
		}
		return s.hidden(real, parent), true
	case !visible || writable || absent || denied && !byLandlock:
		return Refusal{}, false
	}
	if phrase == "is a directory" && exists && !isPlaceholder(real) {
		return Refusal{}, false
	}
	if !mayWrite(real) && (exists || !mayWrite(parent)) {
		return Refusal{}, false // it is the same outside
	}
	return s.onlyRead(real), true
}

// resolved returns a path without symbolic links, as far as it exists, and reports whether all of
// it does.
func resolved(name string) (real string, exists bool) {
	rest := ""
	for dir := name; ; dir = filepath.Dir(dir) {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil {
			return filepath.Join(real, rest), rest == ""
		}
		if dir == filepath.Dir(dir) || !errors.Is(err, fs.ErrNotExist) {
			return name, false
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

// isPlaceholder reports whether a directory only stands for a protected file that does not exist.
func isPlaceholder(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.IsDir() && info.Mode()&fs.ModeSticky != 0
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
