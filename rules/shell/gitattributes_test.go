package shell_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
)

// TestL2_GitDrivers checks that git commands ask if an attribute names a filter of the
// configuration, and if that has a program that compares, one that converts for comparisons, or one
// that merges. Real git is the witness: where it runs the program, the command must ask. Where it
// does not although the command asks, the case says why.
func TestL2_GitDrivers(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the driver is a script for a POSIX shell")
	}
	put := func(name, text string) func(*place) { return func(p *place) { p.put(name, text) } }
	add := func(name, text string) func(*place) {
		return func(p *place) {
			p.put(name, text)
			p.git(".", "add", name)
		}
	}
	alone := func(name, text string) func(*place) { // in the index only
		return func(p *place) {
			add(name, text)(p)
			p.remove(name)
		}
	}
	for _, c := range []struct {
		name   string
		change func(*place)
		runs   bool
		asks   bool // although it does not run
	}{
		{"none", func(*place) {}, false, false},
		{"other attributes", put(".gitattributes",
			"* text=auto\n*.x filter=other diff=other merge=other\n* -filter !diff merge\n"), false, false},
		{"comment", put(".gitattributes", "# * filter=d\n"), false, true},
		{"top", put(".gitattributes", "* filter=d diff=d merge=d\n"), true, false},
		{"top, tracked", add(".gitattributes", "* filter=d diff=d merge=d\n"), true, false},
		{"index only", alone(".gitattributes", "* filter=d diff=d merge=d\n"), true, false},
		{"index only, packed", func(p *place) {
			alone(".gitattributes", "* filter=d diff=d merge=d\n")(p)
			p.git(".", "commit", "-q", "-m", "y")
			p.git(".", "repack", "-q", "-a", "-d")
		}, true, false},
		{"subdirectory", put("sub/.gitattributes", "f filter=d diff=d merge=d\n"), true, false},
		{"subdirectory, index only", alone("sub/.gitattributes", "f filter=d diff=d merge=d\n"), true, false},
		{"deep", put("sub/deep/.gitattributes", "* filter=d diff=d merge=d\n"), true, false},
		{"info", put(".git/info/attributes", "* filter=d diff=d merge=d\n"), true, false},
		{"user", put("~/.config/git/attributes", "* filter=d diff=d merge=d\n"), true, false},
		{"configured", func(p *place) {
			p.put("~/attr", "* filter=d diff=d merge=d\n")
			p.git(".", "config", "core.attributesFile", "~/attr")
		}, true, false},
		{"configured, harmless", func(p *place) {
			p.put("~/attr", "* text=auto\n")
			p.git(".", "config", "--global", "core.attributesFile", "~/attr")
		}, false, false},
		{"configured, relative", func(p *place) {
			p.put("attr", "* filter=d diff=d merge=d\n")
			p.git(".", "config", "core.attributesFile", "attr")
		}, true, false},
		{"macro", put(".gitattributes", "[attr]mine filter=d diff=d merge=d\n* mine\n"), true, false},
		{"macro of the repository", func(p *place) {
			p.put(".git/info/attributes", "[attr]mine filter=d diff=d merge=d\n")
			p.put("sub/.gitattributes", "* mine\n")
		}, true, false},
		{"macro that nothing has", put(".gitattributes", "[attr]mine filter=d diff=d merge=d\n"), false, true},
		{"pattern in quotes", put(".gitattributes", "\"*\"\tfilter=d\tdiff=d merge=d\r\n"), true, false},
		{"byte order mark", put(".gitattributes", "\ufeff* filter=d diff=d merge=d\n"), true, false},
		{"no pattern that matches", put(".gitattributes", "*.none filter=d diff=d merge=d\n"), false, true},
		{"untracked directory", put("new/.gitattributes", "* filter=d diff=d merge=d\n"), false, true},
		{"unreadable", func(p *place) {
			if err := os.Mkdir(filepath.Join(p.dir, ".gitattributes"), 0o755); err != nil {
				p.Fatal(err)
			}
		}, false, true},
	} {
		for _, driver := range []struct{ key, script string }{{"filter.d.clean", "git status"},
			{"filter.d.process", "git diff"}, {"diff.d.textconv", "git diff"}} {
			t.Run(c.name+"/"+driver.key+"/"+driver.script, func(t *testing.T) {
				p := newPlace(t)
				p.git(".", "init", "-q")
				p.put("f", "x\n")
				p.put("sub/f", "x\n")
				p.put("sub/deep/f", "x\n")
				p.git(".", "add", ".")
				p.git(".", "commit", "-q", "-m", "x")
				mark := filepath.Join(p.home, "mark")
				p.put("~/driver", "#!/bin/sh\n: > '"+mark+"'\n")
				p.put("~/.gitconfig", fmt.Sprintf("[%s]\n", "user")+"name = x\n")
				c.change(p)
				for _, f := range []string{"f", "sub/f", "sub/deep/f"} {
					p.put(f, "y\n") // of the same size, so that git compares the content
				}
				p.git(".", "config", "--global", driver.key, filepath.Join(p.home, "driver"))
				p.run(driver.script)
				_, err := os.Stat(mark)
				ran := err == nil
				if ran != c.runs {
					t.Errorf("git runs the driver: %v, want %v", ran, c.runs)
				}
				_, why := p.judge(driver.script)
				if asks := c.runs || driver.key[:4] == "diff" || c.asks &&
					c.name != "untracked directory"; (why != "") != asks {
					t.Errorf("it asks: %q", why)
				}
				if ran && why == "" {
					t.Error("git runs a program that nobody has approved")
				}
			})
		}
	}
}

// run runs a script with the configuration of the home directory. Drivers may make it fail.
func (p *place) run(script string) {
	p.Helper()
	cmd := exec.Command(peer.Need(p, "sh"), "-c", script)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "HOME="+p.home, "XDG_CONFIG_HOME="+p.home+"/.config", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_ATTR_NOSYSTEM=1")
	_ = cmd.Run() // tests look at what its driver did
}

func (p *place) remove(name string) {
	p.Helper()
	if err := os.Remove(filepath.Join(p.dir, name)); err != nil {
		p.Fatal(err)
	}
}

// TestL2_GitDriversOfOldFiles checks what git runs for files that are not tracked any more, and
// drivers that no attribute has to name.
func TestL2_GitDriversOfOldFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, config, script string
		change               func(*place)
		asks                 bool
	}{
		{"deleted directory", "[diff \"d\"]\ntextconv = x\n", "git log -p", func(p *place) {
			p.git(".", "rm", "-q", "-r", "old")
			p.put("old/.gitattributes", "* diff=d\n")
		}, true},
		{"deleted directory behind a link", "[diff \"d\"]\ntextconv = x\n", "git log -p", func(p *place) {
			p.git(".", "rm", "-q", "-r", "old")
			p.put("other/.gitattributes", "* diff=d\n")
			if err := os.Symlink("other", filepath.Join(p.dir, "old")); err != nil {
				p.Fatal(err)
			}
		}, true},
		{"blame of a file that is not tracked any more", "[filter \"d\"]\nclean = x\n", "git blame old/f",
			func(p *place) {
				p.git(".", "rm", "-q", "--cached", "-r", "old")
				p.put("old/.gitattributes", "* filter=d\n")
			}, true},
		{"filter for a directory without tracked files", "[filter \"d\"]\nclean = x\n", "git status",
			func(p *place) { p.put("new/.gitattributes", "* filter=d\n") }, false},
		{"default driver", "[diff \"default\"]\ntextconv = x\n", "git diff", func(*place) {}, true},
		{"driver without a name", "[filter]\nclean = x\n", "git diff", func(*place) {}, true},
		{"default merge", "[merge]\ndefault = d\n", "git log -p", func(*place) {}, true},
		{"merge driver", "[merge \"d\"]\ndriver = x\n", "git log -p",
			func(p *place) { p.put(".gitattributes", "* merge=d\n") }, true},
		{"attributes of a tree", "[filter \"d\"]\nclean = x\n[attr]\ntree = HEAD\n", "git status", func(*place) {},
			true},
		{"git-lfs", "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\tprocess = " +
			"git-lfs filter-process\n\trequired = true\n",
			"git status && git diff && git log -p && git show HEAD && git blame old/f && git grep x", func(*place) {},
			false},
		{"git-lfs in use", "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n", "git status", func(p *place) {
			p.put(".gitattributes", "*.png filter=lfs diff=lfs merge=lfs -text\n")
		}, true},
		{"submodule", "[filter \"d\"]\nclean = x\n", "git status", func(p *place) {
			p.git(".", "init", "-q", "in")
			p.git("in", "commit", "-q", "--allow-empty", "-m", "x")
			p.git(".", "-c", "advice.addEmbeddedRepo=false", "add", "in")
			p.put("in/.gitattributes", "* filter=d\n")
			p.put("in/f", "x\n")
			p.git("in", "-c", "filter.d.clean=cat", "add", ".")
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			p.git(".", "init", "-q")
			p.put("f", "x\n")
			p.put("old/f", "x\n")
			p.git(".", "add", ".")
			p.git(".", "commit", "-q", "-m", "x")
			c.change(p)
			p.put("~/.gitconfig", c.config)
			if _, why := p.judge(c.script); (why != "") != c.asks {
				t.Errorf("it asks: %q", why)
			}
		})
	}
}

// TestL2_GitDriversAreBounded checks that a large work tree is not searched without end.
func TestL2_GitDriversAreBounded(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.git(".", "init", "-q")
	p.put("~/.gitconfig", "[filter \"d\"]\nclean = x\n")
	for i := range 5100 {
		p.put(fmt.Sprintf("%d/f", i), "")
	}
	if _, why := p.judge("git status"); why != "" {
		t.Errorf("without tracked files it asks: %s", why)
	}
	p.git(".", "-c", "filter.d.clean=cat", "add", ".")
	if _, why := p.judge("git status"); why == "" {
		t.Error("thousands of directories are searched")
	}
	p.put("~/.gitconfig", "[user]\nname = x\n")
	if _, why := p.judge("git status"); why != "" {
		t.Errorf("without drivers it asks: %s", why)
	}
}
