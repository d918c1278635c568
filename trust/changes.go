package trust

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"
)

// Change is the difference of one file between what was decided about and what is there now.
type Change struct {
	Name string
	What What
	// Diff is a unified diff, or a sentence where none can be shown. The text is as the files have
	// it: clean it before a terminal shows it.
	Diff string
}

// What says what happened to a file.
type What string

// The kinds of changes.
const (
	Added   What = "added"
	Removed What = "removed"
	Edited  What = "changed"
	Refused What = "refused" // it is among the Problems
)

// The limits of the texts that a decision keeps for diffs.
const (
	maxKeptFile = 64 << 10
	maxKept     = 1 << 20
)

// keptFile is a file as a decision keeps it.
type keptFile struct {
	Name       string `json:"name"`
	Executable bool   `json:"executable,omitempty"`
	IsLink     bool   `json:"is_link,omitempty"`
	Link       string `json:"link,omitempty"`
	Size       int    `json:"size"`
	SHA256     string `json:"sha256"`
	Text       string `json:"text,omitempty"` // empty if it is not UTF-8, or beyond the limits
}

// keep returns the files of a snapshot for a decision.
func keep(s *Snapshot) (files []keptFile) {
	room := maxKept
	for i := range s.Files {
		f := &s.Files[i]
		sum := sha256.Sum256(f.Data)
		k := keptFile{Name: f.Name, Executable: f.Executable, IsLink: f.Link != "", Link: f.Link, Size: len(f.Data),
			SHA256: hex.EncodeToString(sum[:])}
		if isText(f.Data) && len(f.Data) <= min(maxKeptFile, room) {
			k.Text = string(f.Data)
			room -= len(k.Text)
		}
		files = append(files, k)
	}
	return files
}

// isText reports whether a diff can show the data.
func isText(data []byte) bool { return utf8.Valid(data) && !bytes.ContainsRune(data, 0) }

// changes returns the differences between kept files and a snapshot, in the order of names.
func changes(was []keptFile, now *Snapshot) (all []Change) {
	old := map[string]*keptFile{}
	for i := range was {
		old[was[i].Name] = &was[i]
	}
	for _, k := range keep(now) {
		before := old[k.Name]
		delete(old, k.Name)
		switch {
		case before == nil:
			all = append(all, Change{k.Name, Added, k.describe("", textOf(now, k.Name))})
		case !before.same(&k):
			all = append(all, Change{k.Name, Edited, before.difference(&k, textOf(now, k.Name))})
		}
	}
	for i := range was {
		if k := &was[i]; old[k.Name] == k {
			all = append(all, Change{k.Name, Removed, k.describe(k.Text, "")})
		}
	}
	for _, p := range now.Problems {
		all = append(all, Change{p.Name, Refused, p.Reason + "\n"})
	}
	slices.SortStableFunc(all, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// textOf returns the content of a file for a diff, or "" if it is too large or no text.
func textOf(s *Snapshot, name string) string {
	if f := s.File(name); f != nil && len(f.Data) <= maxKeptFile && isText(f.Data) {
		return string(f.Data)
	}
	return ""
}

// same reports whether two versions of a file are the same, whether or not their texts are kept.
func (k *keptFile) same(o *keptFile) bool {
	return k.Executable == o.Executable && k.IsLink == o.IsLink && k.Link == o.Link && k.Size == o.Size &&
		k.SHA256 == o.SHA256
}

// describe describes a file that was added or removed: its mode and link, and a diff of its
// content.
func (k *keptFile) describe(was, now string) string {
	var b strings.Builder
	if k.IsLink {
		fmt.Fprintf(&b, "symbolic link to %s\n", k.Link)
	}
	if k.Executable {
		b.WriteString("executable\n")
	}
	if was == "" && now == "" && k.Size > 0 {
		fmt.Fprintf(&b, "%d bytes, SHA-256 %s\n", k.Size, k.SHA256)
	}
	if k.Size == 0 && !k.IsLink {
		b.WriteString("empty\n")
	}
	b.WriteString(unified(k.Name, was, now))
	return b.String()
}

// difference describes how a file differs from k. now is its text.
func (k *keptFile) difference(o *keptFile, now string) string {
	var b strings.Builder
	if k.IsLink != o.IsLink || k.Link != o.Link {
		fmt.Fprintf(&b, "%s, now %s\n", k.linkText(), o.linkText())
	}
	if k.Executable != o.Executable {
		fmt.Fprintf(&b, "%s, now %s\n", k.modeText(), o.modeText())
	}
	if k.SHA256 == o.SHA256 && k.Size == o.Size {
		return b.String()
	}
	if k.Size > 0 && k.Text == "" || o.Size > 0 && now == "" {
		fmt.Fprintf(&b, "the content differs: %d bytes (SHA-256 %s), now %d bytes (SHA-256 %s)\n", k.Size, k.SHA256,
			o.Size, o.SHA256)
		return b.String()
	}
	b.WriteString(unified(k.Name, k.Text, now))
	return b.String()
}

func (k *keptFile) linkText() string {
	if !k.IsLink {
		return "no symbolic link"
	}
	return "a symbolic link to " + k.Link
}

func (k *keptFile) modeText() string {
	if k.Executable {
		return "executable"
	}
	return "not executable"
}

// unified returns the unified diff of two texts.
func unified(name, was, now string) string {
	return string(diff.Diff("a/"+name, []byte(was), "b/"+name, []byte(now)))
}
