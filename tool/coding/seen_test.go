package coding

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/tool"
)

// filesSession is a session that remembers what its calls have seen of files.
type filesSession struct {
	tool.Plain
	seen map[string]env.Hash
}

func (r *filesSession) Files() tool.Files { return r }

func (r *filesSession) Seen(path string) (h env.Hash, ok bool) {
	h, ok = r.seen[path]
	return h, ok
}

// call runs a call and remembers what it saw.
func (r *filesSession) call(b *fixture, t tool.Tool, args any) *tool.Outcome {
	b.Helper()
	out := b.runCall(b.Context(), t, args, tool.Call{Session: r})
	if r.seen == nil {
		r.seen = map[string]env.Hash{}
	}
	tool.Remember(r.seen, out.Seen, out.Changes)
	return out
}

// write writes "ours" and expects an error with the text, or none if that is empty.
func (r *filesSession) write(b *fixture, name, want string) {
	b.Helper()
	var before string
	if _, err := os.Stat(filepath.Join(b.dir, name)); err == nil {
		before = b.get(name)
	}
	out := r.call(b, WriteFile(), object{"file_path": name, "content": "ours\n"})
	text := out.Model.Text()
	switch {
	case want == "" && (out.IsError || b.get(name) != "ours\n"):
		b.Errorf("write_file of %s: %s", name, text)
	case want != "" && (!out.IsError || !strings.Contains(text, want) || b.get(name) != before):
		b.Errorf("write_file of %s: error %v %s, want %q; the file is %q", name, out.IsError, text, want, b.get(name))
	}
}

const (
	notRead   = "this session has not read it"
	hasChange = "has changed since this session read or wrote it last"
)

func TestI6_WriteFileOverWhatWasNotSeen(t *testing.T) {
	b, s := newFixture(t), &filesSession{}
	b.put("f", "theirs, of another size\n")
	s.write(b, "f", notRead)
	s.write(b, "new", "")
	b.put("same size", "x234\n")
	s.write(b, "same size", notRead)
	b.put("equal", "ours\n") // nothing is lost
	s.write(b, "equal", "")
	if text := s.call(b, WriteFile(), object{"file_path": "f", "content": "x"}).Model.Text(); !strings.Contains(text,
		"Read it first") || !strings.Contains(text, "24 bytes") {
		t.Error(text)
	}
	b.ok(WriteFile(), object{"file_path": "f", "content": "without a session"}) // there is nothing to remember
}

// Every way to see a file permits replacing it, until somebody else changes it.
func TestI6_WhatCountsAsSeeing(t *testing.T) {
	ways := []struct {
		name string
		tool tool.Tool
		args any
	}{
		{"read_file", ReadFile(), object{"file_path": "dir/f"}},
		{"a part", ReadFile(), object{"file_path": "./dir/f", "offset": 2, "limit": 1}},
		{"read_many_files", ReadManyFiles(), object{"paths": []string{"dir"}}},
		{"edit_file", EditFile(), object{"file_path": "dir/f", "old_string": "one", "new_string": "1"}},
		{"apply_patch", ApplyPatch(),
			object{"patch": "*** Begin Patch\n*** Update File: dir/f\n-one\n+1\n*** End Patch"}},
		{"a patch in shell", Shell(0),
			object{"command": "cd dir && apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: f\n-one\n+1\n*** End " +
				"Patch\nEOF"}},
		{"a move", ApplyPatch(),
			object{"patch": "*** Begin Patch\n*** Update File: other\n*** Move to: dir/f\n-x\n+y\n*** End Patch"}},
		{"an absolute name", ReadFile(), object{"file_path": "ABS/dir/f"}},
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			b, s := newFixture(t), &filesSession{}
			b.put("dir/f", "one\ntwo\nthree\n")
			b.put("other", "x\n")
			if args, ok := way.args.(object); ok && args["file_path"] == "ABS/dir/f" {
				args["file_path"] = b.dir + "/dir/f"
			}
			if out := s.call(b, way.tool, way.args); out.IsError {
				t.Fatal(out.Model.Text())
			}
			b.put("dir/f", "theirs\n")
			s.write(b, "dir/f", hasChange)
			b.put("dir/f", "one\ntwo\nthree\n")
			if out := s.call(b, ReadFile(), object{"file_path": "dir/f"}); out.IsError {
				t.Fatal(out.Model.Text())
			}
			s.write(b, "dir/f", "")
			s.write(b, "dir/f", "") // it has seen what it wrote
		})
	}
}

// Only the content counts, not the modification time or the name by which the file was reached.
func TestI6_SeenByContentAndFile(t *testing.T) {
	b, s := newFixture(t), &filesSession{}
	b.put("f", "one\n")
	if err := os.Symlink("f", filepath.Join(b.dir, "link")); err != nil {
		t.Skipf("not run: no symbolic links: %v", err)
	}
	s.call(b, ReadFile(), object{"file_path": "link"})
	b.put("f", "one\n") // again, with a new time
	s.write(b, "f", "")
	s.call(b, ApplyPatch(), object{"patch": "*** Begin Patch\n*** Delete File: f\n*** End Patch"})
	b.put("f", "theirs\n") // after its own deletion
	s.write(b, "f", hasChange)
}

// A large file that was read in part is not read to its end, and does not count as seen.
func TestI6_LargeFilesAreNotSeen(t *testing.T) {
	b, s := newFixture(t), &filesSession{}
	b.put("large", strings.Repeat("line\n", maxSeenBytes/5+1))
	b.put("almost", strings.Repeat("line\n", maxSeenBytes/5))
	for name, want := range map[string]string{"large": "too large to be read as a whole", "almost": ""} {
		if out := s.call(b, ReadFile(), object{"file_path": name, "limit": 2}); out.IsError {
			t.Fatal(out.Model.Text())
		}
		s.write(b, name, want)
	}
}
