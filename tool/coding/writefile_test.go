package coding

import (
	"os"
	"path/filepath"
	"testing"
)

func TestC4_WriteFile(t *testing.T) {
	b := newFixture(t)
	if got := b.ok(WriteFile(), object{"file_path": "a/b/c.txt",
		"content": "hällo\n"}); got != "Created a/b/c.txt (7 bytes)." {
		t.Error(got)
	}
	if got := b.get("a/b/c.txt"); got != "hällo\n" {
		t.Errorf("%q", got)
	}
	if err := os.Chmod(filepath.Join(b.dir, "a/b/c.txt"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := b.ok(WriteFile(), object{"file_path": "a/b/c.txt",
		"content": "x"}); got != "Replaced a/b/c.txt (1 byte, before: 7)." {
		t.Error(got)
	}
	info, err := os.Stat(filepath.Join(b.dir, "a/b/c.txt"))
	if err != nil || info.Mode().Perm() != 0o755 || info.Size() != 1 {
		t.Errorf("%v, %v", info, err)
	}
	if got := b.ok(WriteFile(), object{"file_path": "empty", "content": ""}); got != "Created empty (0 bytes)." {
		t.Error(got)
	}
}

func TestC4_Refusals(t *testing.T) {
	b := newFixture(t)
	b.put("dir/file", "x")
	b.fails(WriteFile(), object{"file_path": "dir", "content": "x"}, "dir is a directory")
	b.fails(WriteFile(), object{"file_path": "", "content": "x"}, "file_path is empty")
	b.fails(WriteFile(), object{"file_path": "a"}, `"content" is missing`)
	b.fails(WriteFile(), object{"file_path": "dir/file/x", "content": "x"}, "dir/file/x")
	b.fails(WriteFile(), object{"file_path": "../x", "content": "x"}, "outside")
}

func TestC4_Access(t *testing.T) {
	access, err := WriteFile().Access(`{"file_path":"./x","content":""}`)
	if err != nil || access.Effect.String() != "writes" || len(access.Paths) != 1 || access.Paths[0] != "x" {
		t.Errorf("%+v, %v", access, err)
	}
}
