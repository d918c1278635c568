//go:build unix

package shell_test

import (
	"fmt"
	"testing"
)

// Where submodule.recurse is set, git grep looks into submodules of a commit that the index does
// not have, and gets their missing objects by the program that their configuration names.
func TestL2_GitGrepInSubmodules(t *testing.T) {
	t.Parallel()
	const script = "git grep needle HEAD"
	for name, c := range map[string]struct {
		set  func(p *place)
		asks bool
	}{
		"of the repository": {func(p *place) { p.git(".", "config", "submodule.recurse", "true") }, true},
		"without a value":   {func(p *place) { p.put("~/.gitconfig", "[submodule]\n\trecurse\n") }, true},
		"of the user":       {func(p *place) { p.put("~/.gitconfig", "[submodule]\n\trecurse = yes\n") }, true},
		"off":               {func(p *place) { p.git(".", "config", "submodule.recurse", "false") }, false},
		"not set":           {func(*place) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.git(".", "init", "-q")
			p.git(".", "init", "-q", "in")
			p.put("in/a", "needle\n")
			p.git("in", "add", "a")
			p.git("in", "commit", "-q", "-m", "x")
			blob := fmt.Sprintf("%x", p.id("in", "HEAD:a"))
			p.drop("in/.git/objects/" + blob[:2] + "/" + blob[2:])
			p.put("canary", "#!/bin/sh\n: >'"+p.home+"/mark'\nexit 1\n")
			for _, setting := range [][2]string{{"core.repositoryformatversion", "1"},
				{"extensions.partialClone", "origin"},
				{"remote.origin.promisor", "true"}, {"remote.origin.url", p.dir},
				{"remote.origin.uploadpack", p.dir + "/canary"}} {
				p.git("in", "config", setting[0], setting[1])
			}
			p.put(".gitmodules", "[submodule \"in\"]\n\tpath = in\n\turl = ./in\n")
			p.git(".", "add", ".gitmodules")
			p.git(".", "update-index", "--add", "--cacheinfo", fmt.Sprintf("160000,%x,in", p.id("in", "HEAD")))
			p.git(".", "commit", "-q", "-m", "x")
			p.git(".", "config", "submodule.in.active", "true")
			p.git(".", "update-index", "--force-remove", "in")
			c.set(p)
			if marked, out := p.marked(script); marked != c.asks {
				t.Errorf("git has run the program: %v\n%s", marked, out)
			}
			if _, why := p.judge(script); (why != "") != c.asks {
				t.Errorf("it asks because of %q", why)
			}
			if _, why := p.judge("git log -1"); why != "" {
				t.Errorf("another command asks: %s", why)
			}
		})
	}
}
