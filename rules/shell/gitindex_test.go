//go:build unix

package shell_test

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
)

// number returns a number as an index has it.
func number(n int) string { return string(binary.BigEndian.AppendUint32(nil, uint32(n))) }

// extension returns an extension of an index.
func extension(name, content string) string { return name + number(len(content)) + content }

// entry returns an entry of an index, which says that its name has a number of bytes.
func entry(mode int, id, name string, length int) string {
	text := strings.Repeat("\x00", 24) + number(mode) + strings.Repeat("\x00", 12) + id + number(length)[2:] + name
	return text + strings.Repeat("\x00", 8-len(text)%8)
}

// id returns the id of what a name stands for in a directory of the place, as an index has it.
func (p *place) id(dir, name string) string {
	p.Helper()
	cmd := exec.Command(peer.Need(p, "git"), "-c", "core.fsmonitor=false", "rev-parse", name)
	cmd.Dir = filepath.Join(p.dir, dir)
	out, err := cmd.Output()
	if err != nil {
		p.Fatal(err)
	}
	id, err := hex.DecodeString(strings.TrimSpace(string(out)))
	if err != nil {
		p.Fatal(err)
	}
	return string(id)
}

// An index can hide a repository inside from a reader that takes its entries one after the other,
// as they look. Git runs the program of that repository.
func TestL2_RepositoryThatTheIndexHides(t *testing.T) {
	const file, link = 0o100644, 0o160000
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(p *place) (index string)
	}{
		{"entries elsewhere, for several threads", func(p *place) string {
			p.git(".", "config", "index.threads", "4")
			plain := entry(file, p.id(".", "HEAD:a/x"), "a", 1)
			index := "DIRC" + number(2) + number(1) + plain
			hidden := extension("HIDE", entry(link, p.id("in", "HEAD"), "in", 2))
			at := len(index)
			where := extension("IEOT", number(1)+number(at+8)+number(1))
			sum := sha1.Sum([]byte(hidden[:8] + where[:8])) // of the heads of the extensions
			return index + hidden + where + extension("EOIE", number(at)+string(sum[:]))
		}},
		{"a name that is longer than it looks", func(p *place) string {
			blob := p.id(".", "HEAD:a/x")
			return "DIRC" + number(2) + number(2) + entry(file, blob, "a", 70) + entry(file, blob, "b", 1) +
				extension("HIDE", entry(link, p.id("in", "HEAD"), "in", 2)) + extension("MORE", "")
		}},
		{"ids of another length in the configuration of the work tree", func(p *place) string {
			p.put(".git/config.worktree", "[extensions]\n\tobjectformat = sha256\n")
			return p.longer()
		}},
		{"ids of two lengths", func(p *place) string {
			p.git(".", "config", "core.repositoryformatversion", "1")
			p.git(".", "config", "extensions.objectformat", "sha256")
			p.git(".", "config", "--add", "extensions.objectformat", "sha1")
			return p.longer()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			p.git(".", "init", "-q")
			p.put("a/x", "x\n")
			p.git(".", "add", ".")
			p.git(".", "commit", "-q", "-m", "x")
			for _, dir := range []string{"in", "000000000000no"} {
				p.git(".", "init", "-q", dir)
				p.git(dir, "commit", "-q", "--allow-empty", "-m", "x")
				p.put("canary", "#!/bin/sh\n: >'"+p.home+"/mark'\n")
				p.git(dir, "config", "core.fsmonitor", p.dir+"/canary")
			}
			index := c.change(p)
			sum := sha1.Sum([]byte(index))
			index += string(sum[:])
			p.put(".git/index", index)
			_, why := p.judge("git status")
			if marked, out := p.marked("git status"); !marked {
				t.Errorf("git does not run the program of the repository:\n%s", out)
			}
			if why == "" {
				t.Error("git status is taken for reading")
			}
		})
	}
}

// longer returns an index whose names are other ones if ids are longer than they are.
func (p *place) longer() string {
	p.Helper()
	return "DIRC" + number(2) + number(2) + entry(0o100644, p.id(".", "HEAD:a/x"), "000000000000a", 13) +
		entry(0o160000, p.id("000000000000no", "HEAD"), "000000000000no", 14) + extension("HIDE", "1234")
}
