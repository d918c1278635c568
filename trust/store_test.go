package trust_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/attractor-go/attractor/trust"
)

// A decision is kept, holds for these files alone, shows its difference and can be revoked.
func TestL10_Decisions(t *testing.T) {
	p := newProject(t, ".claude/settings.json", "{\n\t\"hooks\": {}\n}\n")
	d := p.decide()
	if d.State != trust.Undecided || len(d.Changes) != 1 || d.Changes[0].What != trust.Added ||
		!strings.Contains(d.Changes[0].Diff, "+\t\"hooks\": {}") {
		t.Errorf("%+v", d)
	}
	p.must(p.store.Decline(p.clean()))
	if d := p.decide(); d.State != trust.Declined || d.Changes != nil {
		t.Errorf("%+v", d)
	}
	p.must(p.store.Grant(p.clean()))
	if d := p.decide(); d.State != trust.Trusted || d.Since.IsZero() {
		t.Errorf("%+v", d)
	}
	p.put(".claude/settings.json", "{\n\t\"hooks\": {\"Stop\": []}\n}\n")
	d = p.decide()
	if d.State != trust.Changed || !strings.Contains(d.Changes[0].Diff,
		"-\t\"hooks\": {}\n+\t\"hooks\": {\"Stop\": []}\n") {
		t.Errorf("%+v", d)
	}
	list, err := p.store.List()
	if err != nil || len(list) != 1 || list[0].Root != p.dir || list[0].State != trust.Trusted || list[0].Files != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	p.must(p.store.Revoke(p.dir))
	if d := p.decide(); d.State != trust.Undecided {
		t.Errorf("%+v", d)
	}
	if err := p.store.Revoke(p.dir); !errors.Is(err, trust.ErrNoDecision) {
		t.Errorf("%v", err)
	}
}

// A decision says nothing about a directory inside or beside, even with the same files, and is
// found through a link to the directory.
func TestL10_OneDirectory(t *testing.T) {
	p := newProject(t, ".mcp.json", "{}", "nested/.mcp.json", "{}")
	p.must(p.store.Grant(p.clean()))
	for dir, want := range map[string]trust.State{p.dir: trust.Trusted,
		filepath.Join(p.dir, "nested"): trust.Undecided} {
		link := filepath.Join(t.TempDir(), "link")
		p.must(os.Symlink(dir, link))
		s, err := trust.Scan(link)
		p.must(err)
		if d, err := p.store.Decide(s); err != nil || d.State != want {
			t.Errorf("%s: %+v, %v", dir, d, err)
		}
	}
}

// Only the user can read a decision, and one that others can change is not used.
func TestL10_DecisionsArePrivate(t *testing.T) {
	p := newProject(t, ".mcp.json", "{}")
	p.must(p.store.Grant(p.clean()))
	for name, info := range p.kepts() {
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
		p.must(os.Chmod(name, 0o666))
	}
	if d, err := p.store.Decide(p.clean()); !errors.Is(err, trust.ErrDamaged) || d.State == trust.Trusted {
		t.Errorf("%+v, %v", d, err)
	}
}

// kepts returns the files of the store.
func (p *project) kepts() map[string]fs.FileInfo {
	p.Helper()
	all := map[string]fs.FileInfo{}
	entries, err := os.ReadDir(p.kept)
	p.must(err)
	for _, e := range entries {
		info, err := e.Info()
		p.must(err)
		all[filepath.Join(p.kept, e.Name())] = info
	}
	return all
}

// A damaged file trusts nothing, says what to do and can be replaced by a new decision.
func TestL10_DamagedStore(t *testing.T) {
	p := newProject(t, ".mcp.json", "{}")
	p.must(p.store.Grant(p.clean()))
	var name string
	for name = range p.kepts() {
	}
	good, err := os.ReadFile(name)
	p.must(err)
	hash := p.clean().Hash()
	for what, data := range map[string]string{
		"empty":            "",
		"cut off":          string(good[:len(good)/2]),
		"no JSON":          "trusted",
		"null":             "null",
		"another version":  strings.Replace(string(good), `"version": 1`, `"version": 2`, 1),
		"another root":     strings.Replace(string(good), p.dir, "/elsewhere", 1),
		"another state":    strings.Replace(string(good), `"trusted"`, `"Trusted"`, 1),
		"another hash":     strings.Replace(string(good), hash, strings.Repeat("0", 64), 1),
		"something behind": string(good) + "{}",
	} {
		p.must(os.WriteFile(name, []byte(data), 0o600))
		d, err := p.store.Decide(p.clean())
		if !errors.Is(err, trust.ErrDamaged) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(),
			"remove it") || d.State == trust.Trusted {
			t.Errorf("%s: %+v, %v", what, d, err)
		}
		list, err := p.store.List()
		if err != nil || len(list) != 1 || what != "another hash" && !strings.Contains(list[0].Problem, name) {
			t.Errorf("%s: the list is %+v, %v", what, list, err)
		}
	}
	p.must(p.store.Grant(p.clean()))
	if d := p.decide(); d.State != trust.Trusted {
		t.Errorf("%+v", d)
	}
}

// Flipping any bit of a decision's file never trusts other files than before, and never panics.
func TestL10_FlippedBits(t *testing.T) {
	p := newProject(t, ".mcp.json", "{}")
	p.must(p.store.Grant(p.clean()))
	var name string
	for name = range p.kepts() {
	}
	good, err := os.ReadFile(name)
	p.must(err)
	p.put(".mcp.json", `{"mcpServers":{}}`)
	now := p.clean()
	for i := range len(good) * 8 {
		data := bytes.Clone(good)
		data[i/8] ^= 1 << (i % 8)
		p.must(os.WriteFile(name, data, 0o600))
		if d, err := p.store.Decide(now); d.State == trust.Trusted {
			t.Fatalf("bit %d: %+v, %v", i, d, err)
		}
	}
}

// Concurrent users of a store see whole decisions, and leave no other file behind.
func TestL10_ConcurrentStore(t *testing.T) {
	p := newProject(t, ".mcp.json", "{}")
	one := p.clean()
	p.put(".mcp.json", `{"mcpServers":{"x":{"command":"true"}}}`)
	two := p.clean()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			store := trust.NewStore(p.kept)
			for range 50 {
				mine := []*trust.Snapshot{one, two}[i%2]
				if err := store.Grant(mine); err != nil {
					t.Error(err)
				}
				d, err := store.Decide(mine)
				if err != nil || d.State != trust.Trusted && d.State != trust.Changed {
					t.Errorf("%+v, %v", d, err)
				}
				if _, err := store.List(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if left := p.kepts(); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}

// Files whose content is too large for a diff, or no text, are told as well.
func TestL10_DiffsAreBounded(t *testing.T) {
	p := newProject(t, ".claude/hooks/large", strings.Repeat("x\n", 100_000), ".claude/hooks/binary", "\x00\x01",
		".claude/hooks/none", "")
	for i := range 40 {
		p.put(fmt.Sprintf(".claude/skills/s/%d", i), strings.Repeat("y\n", 20_000))
	}
	p.must(p.store.Grant(p.clean()))
	for name, info := range p.kepts() {
		if info.Size() > 2<<20 {
			t.Errorf("%s has %d bytes", name, info.Size())
		}
	}
	p.put(".claude/hooks/large", strings.Repeat("x\n", 100_000)+"z\n")
	p.put(".claude/hooks/binary", "\x00\x02")
	p.put(".claude/hooks/none", "\n")
	p.put(".claude/skills/s/39", strings.Repeat("y\n", 20_000)+"z\n")
	p.put(".claude/skills/s/9", strings.Repeat("y\n", 20_000)+"z\n")
	d := p.decide()
	if len(d.Changes) != 5 {
		t.Fatalf("%d changes", len(d.Changes))
	}
	for _, c := range d.Changes {
		if c.Diff == "" || len(c.Diff) > 1000 {
			t.Errorf("%s: %d bytes: %.200s", c.Name, len(c.Diff), c.Diff)
		}
	}
}
