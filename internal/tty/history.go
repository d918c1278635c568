package tty

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/attractor-go/attractor/internal/atomicfile"
)

// History holds what a person has entered, the newest last. With a file it lasts longer than the
// process.
type History struct {
	file    string
	entries []string
	at      int    // the entry that is shown; len(entries) for the text that is new
	draft   string // the text that is new, while an entry is shown
}

// The limits of a history and of its file.
const (
	maxEntries   = 1000
	maxEntry     = 16 << 10
	maxFile      = 4 << 20
	trimFileFrom = 2 << 20
)

// OpenHistory reads a history from a file, which need not exist. An empty name keeps it in memory
// only.
func OpenHistory(file string) (*History, error) {
	h := &History{file: file}
	if file == "" {
		return h, nil
	}
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return h, err
	}
	defer f.Close() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	for line := range bytes.Lines(data) {
		var entry string
		if json.Unmarshal(line, &entry) == nil && entry != "" {
			h.entries = append(h.entries, entry)
		}
	}
	if n := len(h.entries) - maxEntries; n > 0 {
		h.entries = h.entries[n:]
	}
	h.at = len(h.entries)
	return h, err
}

// Add adds an entry, unless it is the newest already or too long, and begins anew.
func (h *History) Add(entry string) error {
	defer func() { h.at, h.draft = len(h.entries), "" }()
	entry = strings.TrimSpace(entry)
	if entry == "" || len(entry) > maxEntry || len(h.entries) > 0 && h.entries[len(h.entries)-1] == entry {
		return nil
	}
	h.entries = append(h.entries, entry)
	if len(h.entries) > maxEntries {
		h.entries = h.entries[1:]
	}
	if h.file == "" {
		return nil
	}
	return h.write(entry)
}

// write appends an entry to the file. A file that has become long is written anew, with the newer
// half of what this process knows.
func (h *History) write(entry string) error {
	if info, err := os.Stat(h.file); err == nil && info.Size() > trimFileFrom {
		return h.rewrite()
	}
	if err := os.MkdirAll(filepath.Dir(h.file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(h.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(lineOf(entry)) // one write: another process may append as well
	return errors.Join(err, f.Close())
}

func (h *History) rewrite() error {
	h.entries = h.entries[len(h.entries)/2:]
	var text []byte
	for _, entry := range h.entries {
		text = append(text, lineOf(entry)...)
	}
	return atomicfile.Write(h.file, text)
}

// lineOf returns an entry as a line of the file.
func lineOf(entry string) []byte {
	line, _ := json.Marshal(entry) // which never fails for a string
	return append(line, '\n')
}

// Older returns the entry before the one that is shown, and keeps the text that is new. It returns
// false at the oldest.
func (h *History) Older(shown string) (string, bool) {
	if h.at == 0 {
		return "", false
	}
	if h.at == len(h.entries) {
		h.draft = shown
	}
	h.at--
	return h.entries[h.at], true
}

// Newer returns the entry after the one that is shown, or at last the text that was new. It returns
// false after that.
func (h *History) Newer() (string, bool) {
	if h.at >= len(h.entries) {
		return "", false
	}
	h.at++
	if h.at == len(h.entries) {
		return h.draft, true
	}
	return h.entries[h.at], true
}

// Find returns the newest entry that contains a text, among those older than the one that is shown.
func (h *History) Find(text string) (string, bool) {
	for i := h.at - 1; i >= 0; i-- {
		if strings.Contains(h.entries[i], text) {
			h.at = i
			return h.entries[i], true
		}
	}
	return "", false
}
