//go:build unix

package shell_test

import (
	"os"
	"strings"
	"testing"
)

// Programs of the system that are scripts start others as PATH finds them.
func TestL2_ScriptsOfTheSystem(t *testing.T) {
	p := newPlace(t)
	for _, name := range []string{"grep", "node"} {
		p.put("bin/"+name, "#!/bin/sh\n: >'"+p.home+"/mark'\n")
	}
	inside, outside := []string{"PATH=" + p.dir + "/bin:/usr/bin:/bin"}, []string{"PATH=/usr/bin:/bin"}
	for _, script := range []string{"egrep x a", "/usr/bin/egrep x a", "timeout 5 fgrep x a", "npm --version",
		"/usr/bin/npm -v", "python3 --version", "which ls"} {
		for _, p.vars = range [][]string{inside, {"PATH=bin:/usr/bin:/bin"}, {"PATH=/usr/bin:/bin:"}} {
			if _, why := p.judge(script); why == "" {
				t.Errorf("%s is taken for reading with %s", script, p.vars)
			}
		}
		p.vars = outside
		if _, why := p.judge(script); why != "" {
			t.Errorf("%s: %s", script, why)
		}
	}
	p.vars = inside
	egrep, err := os.ReadFile("/usr/bin/egrep")
	if err != nil || !strings.HasPrefix(string(egrep), "#!") {
		t.Log("egrep is no script here")
	} else if marked, out := p.marked("/usr/bin/egrep x a"); !marked {
		t.Errorf("egrep has not run the program that PATH finds: %s", out)
	}
}
