package git_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/git"
)

// Git reads a large index in several threads, from where an extension says that entries are.
func TestL4_BlocksOfIndexes(t *testing.T) {
	entry := func(name string) string {
		text := strings.Repeat("\x00", 24) + "\x00\x00\x81\xa4" + strings.Repeat("\x00", 12+20) + "\x00" +
			string(rune(len(name))) + name
		return text + strings.Repeat("\x00", 8-len(text)%8)
	}
	number := func(n int) string { return string(binary.BigEndian.AppendUint32(nil, uint32(n))) }
	extension := func(name, content string) string { return name + number(len(content)) + content }
	id := strings.Repeat("\x00", 20)
	for name, where := range map[string]struct {
		at, entries int
		outside     bool
	}{
		"the entries":         {12, 1, false},
		"others":              {12 + 72 + 8, 1, true},
		"more than there are": {12, 2, true},
		"none":                {1 << 20, 1, true},
	} {
		index := "DIRC" + number(2) + number(1) + entry("plain") + extension("HIDE", entry("../out"))
		index += extension("IEOT", number(1)+number(where.at)+number(where.entries)) +
			extension("EOIE", number(12+72)+id) + id
		if got := git.NamesOutside([]byte(index), nil); got != where.outside {
			t.Errorf("%s: outside: %v", name, got)
		}
	}
}

// Git takes as much of a name as its entry says, and finds the next entry by that.
func TestL4_LengthsOfNames(t *testing.T) {
	index := func(length byte) []byte {
		return []byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x01" + strings.Repeat("\x00", 40+20) + "\x00" +
			string(rune(length)) + "plain\x00\x00\x00\x00\x00" + strings.Repeat("\x00", 20))
	}
	if git.NamesOutside(index(5), nil) {
		t.Error("a name outside in an ordinary index")
	}
	for _, length := range []byte{0, 4, 6, 70} {
		if !git.NamesOutside(index(length), nil) {
			t.Errorf("a name of 5 bytes with the length %d counts", length)
		}
	}
}

// The names of a large index in version 4 are shortened, but for the first one of each block.
func TestL4_LargeIndexes(t *testing.T) {
	tree := newTree(t)
	id := strings.TrimSpace(tree.git("hash-object", "-w", "-t", "blob", os.DevNull))
	var b strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&b, "100644 %s\tdir%d/a%d\n", id, i/100, i)
	}
	cmd := tree.command("-c", "index.version=4", "-c", "index.threads=3", "update-index", "--index-info")
	cmd.Stdin = strings.NewReader(b.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	index, err := os.ReadFile(filepath.Join(tree.dir, ".git/index"))
	if err != nil {
		t.Fatal(err)
	}
	if index[7] != 4 || git.NamesOutside(index, nil) {
		t.Error("an index of git's, in version", index[7], ", names files outside")
	}
	whole := regexp.MustCompile(`dir\d+/a\d+\x00`).FindAllIndex(index, -1)
	if len(whole) < 2 {
		t.Fatal("git has written no blocks")
	}
	copy(index[whole[len(whole)-1][0]:], "../")
	if !git.NamesOutside(index, nil) {
		t.Error("the first name of a block may lead outside")
	}
}
