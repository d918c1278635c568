package shell_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
)

// goPlace returns a place whose commands find the real go command, a directory in PATH with a fake one of a later version, and a function
// that runs a go command and reports whether it has run the fake one.
func goPlace(t *testing.T) (p *place, runs func(dir string, args ...string) bool) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the fake toolchain is a script for a POSIX shell")
	}
	program, err := filepath.EvalSymlinks(peer.Need(t, "go"))
	if err != nil {
		t.Fatal(err)
	}
	p = newPlace(t)
	mark := filepath.Join(p.home, "mark")
	for _, name := range []string{"go1.99.0", "x-go1.99.0"} {
		p.put("~/bin/"+name, "#!/bin/sh\n: > '"+mark+"'\n")
	}
	p.vars = []string{"PATH=" + filepath.Dir(program) + ":" + p.home + "/bin:/usr/bin:/bin", "GOTOOLCHAIN=path"}
	return p, func(dir string, args ...string) bool {
		cmd := exec.Command(program, args...)
		cmd.Dir = filepath.Join(p.dir, dir)
		cmd.Env = append(slices.Clone(p.vars), "HOME="+p.home, "GOENV=off", "GOTELEMETRY=off", "GOFLAGS=-mod=mod", "GOPROXY=off", "PWD="+cmd.Dir)
		cmd.Stdout = new(bytes.Buffer)
		_ = cmd.Run() // some fail, because there is no such version
		_, err := os.Stat(mark)
		return err == nil && os.Remove(mark) == nil
	}
}

// TestL2_OtherGo checks that a go command asks where go.mod or go.work make it run another one. The real go command is the witness.
func TestL2_OtherGo(t *testing.T) {
	t.Parallel()
	p, runs := goPlace(t)
	later := "module x\n\ngo 1.99.0\n"
	for dir, files := range map[string][]string{
		"none":       nil,
		"old":        {"go.mod", "module x\ngo 1.20\n"},
		"own":        {"go.mod", "module x\n\ngo 1.24\n"},
		"go":         {"go.mod", later},
		"commented":  {"go.mod", "module x\n  go\t1.99.0 // later\n"},
		"toolchain":  {"go.mod", "module x\ngo 1.20\ntoolchain go1.99.0\n"},
		"default":    {"go.mod", "module x\ngo 1.20\ntoolchain default\n"},
		"custom":     {"go.mod", "module x\ngo 1.20\ntoolchain x-go1.99.0\n"}, // which not every version takes
		"inner":      {"go.mod", later, "mod/go.mod", "module x\ngo 1.20\n"},
		"work":       {"go.work", "go 1.99.0\n", "sub/go.mod", "module x\ngo 1.20\n"},
		"crlf":       {"go.mod", "module x\r\ngo 1.99.0\r\n"},
		"sub/nested": {"../go.mod", later},
	} {
		p.put(dir+"/f", "")
		for i := 0; i+1 < len(files); i += 2 {
			p.put(dir+"/"+files[i], files[i+1])
		}
	}
	if err := os.Symlink("../go", filepath.Join(p.dir, "none/link")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir  string
		asks bool
	}{{"none", false}, {"old", false}, {"own", false}, {"go", true}, {"commented", true}, {"toolchain", true}, {"default", false}, {"custom", true},
		{"inner", true}, {"inner/mod", false}, {"work", true}, {"work/sub", true}, {"crlf", true}, {"sub/nested", true}, {"none/link", true}} {
		for _, args := range [][]string{{"version"}, {"env"}, {"env", "GOROOT"}, {"help", "build"}} {
			script := "cd " + c.dir + " && go " + strings.Join(args, " ")
			if ran := runs(c.dir, args...); ran != c.asks && (ran || c.dir != "custom") {
				t.Errorf("%s runs the other toolchain: %v, want %v", script, ran, c.asks)
			}
			if _, why := p.judge(script); (why != "") != c.asks {
				t.Errorf("%s: %q", script, why)
			}
		}
	}
	if _, why := p.judge("cd go && go env GOMOD"); why != "" || runs("go", "env", "GOMOD") {
		t.Errorf("go env GOMOD: %q", why)
	}
}

// TestL2_ChosenGo checks what the variable GOTOOLCHAIN changes, and that a version that is not known asks.
func TestL2_ChosenGo(t *testing.T) {
	p, runs := goPlace(t)
	p.put("go.mod", "module x\ngo 1.99.0\n")
	p.put("own/go.mod", "module x\ngo 1.24\n")
	vars := p.vars[:1:1]
	for choice, asks := range map[string]bool{"local": false, "path": true, "local+path": true, "go1.24.0+path": true} {
		p.vars = append(vars, "GOTOOLCHAIN="+choice)
		if ran := runs(".", "version"); ran != asks {
			t.Errorf("with GOTOOLCHAIN=%s go runs another toolchain: %v", choice, ran)
		}
		if _, why := p.judge("go version"); (why != "") != asks {
			t.Errorf("with GOTOOLCHAIN=%s: %q", choice, why)
		}
	}
	for _, c := range []struct {
		vars []string
		asks bool
	}{{vars, false}, {nil, true}, {[]string{"PATH=/nothing:" + strings.TrimPrefix(vars[0], "PATH=")}, false}, {[]string{"PATH=" + p.home + "/go:/usr/bin"}, true}} {
		p.put("~/go/go", "#!/bin/sh\n")
		p.vars = c.vars
		if _, why := p.judge("cd own && go version"); (why != "") != c.asks {
			t.Errorf("with %q: %q", c.vars, why)
		}
	}
	p.put("bin/gcc", "#!/bin/sh\n")
	p.vars = []string{vars[0] + ":" + p.dir + "/bin"}
	if _, why := p.judge("cd own && go env"); why == "" {
		t.Error("go env runs a compiler of the workspace without a question")
	}
}

// TestL2_GoDoc checks that go doc asks in a module, for which it may download others. The real go command is the witness.
func TestL2_GoDoc(t *testing.T) {
	p, _ := goPlace(t)
	var asked atomic.Bool
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Store(true)
		w.WriteHeader(http.StatusNotFound)
	}))
	defer proxy.Close()
	p.put("mod/go.mod", "module x\ngo 1.20\nrequire example.com/y v1.0.0\n")
	p.put("none/f", "")
	for dir, want := range map[string]bool{"mod": true, "none": false} {
		cmd := exec.Command(peer.Need(t, "go"), "doc", "fmt")
		cmd.Dir = filepath.Join(p.dir, dir)
		cmd.Env = append(os.Environ(), "HOME="+p.home, "GOPATH="+p.home+"/go", "GOPROXY="+proxy.URL, "GOSUMDB=off", "GOTOOLCHAIN=local", "GOFLAGS=-modcacherw", "PWD="+cmd.Dir)
		out, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatalf("%v\n%s", err, out)
		}
		if got := asked.Swap(false); got != want {
			t.Errorf("go doc in %s asks the proxy: %v\n%s", dir, got, out)
		}
		if _, why := p.judge("cd " + dir + " && go doc fmt"); (why != "") != want {
			t.Errorf("go doc in %s: %q", dir, why)
		}
	}
}
