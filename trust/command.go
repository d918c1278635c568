package trust

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// UnchangedCommand returns an error unless the files of the project that a command names are those in the snapshot. The command is a script
// for a shell, or, with arguments, a program. Call it right before the command runs in the root of the project. A file that has been added
// since counts as changed. Directories do not count, nor files to which a script only writes by a redirection, tee or touch, unless a
// symbolic link leads to them.
func (s *Snapshot) UnchangedCommand(command string, args ...string) error {
	reads, writes := command, []string(nil)
	if len(args) == 0 {
		reads, writes = divide(command)
	}
	named := words(reads)
	for _, arg := range args {
		named = append(named, words(arg)...)
	}
	for _, word := range named {
		if name := inside(s.Root, word); name != "" {
			if err := s.unchangedOrAbsent(name); err != nil {
				return err
			}
		}
	}
	for _, name := range targets(s.Root, writes) {
		if !linked(s.Root, name) {
			continue
		}
		if err := s.Unchanged(name); err != nil {
			return err
		}
	}
	return nil
}

// unchangedOrAbsent returns an error if a file is neither the one in the snapshot nor missing from both, and no directory.
func (s *Snapshot) unchangedOrAbsent(name string) error {
	if s.File(name) != nil {
		return s.Unchanged(name)
	}
	info, err := os.Stat(filepath.Join(s.Root, filepath.FromSlash(name))) // fails for most words, which name no file
	if err == nil && !info.IsDir() {
		return fmt.Errorf("%s: %w: it is new", name, ErrChanged)
	}
	return nil
}

// targets returns the files of a project that are meant by words to which a script only writes.
func targets(root string, writes []string) (names []string) {
	for _, w := range writes {
		for _, word := range words(w) {
			if name := inside(root, word); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// linked reports whether a file of the project is reached through a symbolic link, so that writing to it may change another file.
func linked(root, name string) bool {
	file := filepath.Join(root, filepath.FromSlash(name))
	if info, err := os.Lstat(file); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return true
	}
	dir := filepath.Dir(file)
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && real != dir
}

// separators divide the words of a shell's script.
const separators = " \t\r\n;|&<>()`"

// divide returns a script without the words that it only writes to, and these words as they are written: targets of redirections and the
// arguments of tee and touch. In a quoted text, and in a script with a here-document, nothing counts as written.
func divide(script string) (reads string, writes []string) {
	if strings.Contains(script, "<<") {
		return script, nil
	}
	var kept strings.Builder
	first, target, files := true, false, false // the next word is a command, a target; words until the next command are files
	before := byte(0)
	for len(script) > 0 {
		n := wordLength(script)
		if n == 0 {
			switch c := script[0]; {
			case c == ' ' || c == '\t' || c == '|' && before == '>':
			case c == '>':
				target = before != '<'
			case c == '&' && before == '>':
				target = false
			case c == '<':
				target, files = false, false
			default:
				first, target, files = true, false, false
			}
			kept.WriteByte(script[0])
			before, script = script[0], script[1:]
			continue
		}
		word := script[:n]
		switch {
		case target || files && word[0] != '-':
			writes = append(writes, word)
			kept.WriteByte(' ')
		default:
			kept.WriteString(word)
			files = first && (word == "tee" || word == "touch") || files
			first = false
		}
		target, before, script = false, 0, script[n:]
	}
	return kept.String(), writes
}

// wordLength returns the length of the word at the beginning of a script, with its quotes.
func wordLength(script string) int {
	quote := byte(0)
	for i := 0; i < len(script); i++ {
		switch c := script[i]; {
		case quote == 0 && strings.IndexByte(separators, c) >= 0:
			return i
		case c == '\\' && quote != '\'':
			i++
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == quote:
			quote = 0
		}
	}
	return len(script)
}
