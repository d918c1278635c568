package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
)

// The script installs what the checksums say, or nothing.
func TestQ5_InstallScript(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the tools are those of Linux")
	}
	for _, tool := range []string{"sh", "tar", "curl", "wget", "sha256sum", "openssl"} {
		peer.Need(t, tool)
	}
	dist := newDist(t, stub)
	url := served(t, dist)
	archive := "attractor_0.987.0_linux_" + runtime.GOARCH + ".tar.gz"
	none := func(*testing.T, string) {}
	tests := map[string]struct {
		vars    []string
		without []string                          // tools that this machine has not
		spoil   func(t *testing.T, mirror string) // of a copy of the release
		before  func(t *testing.T, home string)
		left    string // in the home, of before
		want    string // in an error; "" if all is installed
	}{
		"by curl":              {spoil: none, without: []string{"wget"}},
		"by wget":              {spoil: none, without: []string{"curl"}},
		"by openssl":           {spoil: none, without: []string{"sha256sum", "shasum"}},
		"a version":            {spoil: none, vars: []string{"ATTRACTOR_VERSION=0.987.0"}},
		"a version as its tag": {spoil: none, vars: []string{"ATTRACTOR_VERSION=v0.987.0"}},
		"another version": {spoil: none, vars: []string{"ATTRACTOR_VERSION=0.98"},
			want: "names no archive for linux/" + runtime.GOARCH + " of version 0.98"},
		"nothing to download with": {spoil: none, without: []string{"curl", "wget"}, want: "curl or wget is needed"},
		"nothing to verify with": {spoil: none, without: []string{"sha256sum", "shasum", "openssl"},
			want: "is needed to verify the download"},
		"no home": {spoil: none, vars: []string{"HOME="}, want: "set HOME or ATTRACTOR_PREFIX"},
		"no such place": {vars: []string{"ATTRACTOR_MIRROR=" + url + "/none"},
			want: "cannot download " + url + "/none/checksums.txt"},
		"no release of this platform": {spoil: func(t *testing.T,
			dir string) {
			write(t, filepath.Join(dir, "checksums.txt"), "x\n")
		}, want: "names no archive for linux/"},
		"another archive": {spoil: func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, archive),
				string(tarOf(t, "attractor", stub, "attractor-env", stub, "attractor-remote", stub)))
		}, want: "nothing was installed; the download is broken or not the release's"},
		"a relative prefix": {spoil: none, vars: []string{"ATTRACTOR_PREFIX=here"}, want: "has to be an absolute path"},
		"a place that is taken": {spoil: none, before: func(t *testing.T, home string) {
			if err := os.MkdirAll(filepath.Join(home, ".local/bin/attractor"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, want: ".local/bin/attractor is a directory: nothing was installed"},
		"a place that cannot be made": {spoil: none, before: func(t *testing.T, home string) {
			if err := os.MkdirAll(filepath.Join(home, ".local"), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(home, ".local/share"), "")
		}, want: "share/man/man1/attractor-run.1: nothing was installed", left: ".local/share"},
		"half an archive": {spoil: func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, archive), read(t, filepath.Join(dir, archive))[:300])
		}, want: "has the checksum"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := filepath.Join(t.TempDir(), "a home")
			vars := append([]string{"HOME=" + home, "PATH=" + toolsWithout(t, c.without)}, c.vars...)
			if c.before != nil {
				c.before(t, home)
			}
			if c.spoil != nil {
				mirror := t.TempDir()
				if err := os.CopyFS(mirror, os.DirFS(dist)); err != nil {
					t.Fatal(err)
				}
				c.spoil(t, mirror)
				vars = append(vars, "ATTRACTOR_MIRROR="+served(t, mirror)+"/")
			}
			out, err := installed(t, vars)
			if c.want != "" {
				if err == nil || !strings.Contains(out, c.want) {
					t.Errorf("got %v, want %q:\n%s", err, c.want, out)
				}
				if left := strings.Join(filesBelow(t, home), " "); left != c.left {
					t.Errorf("installed all the same: %s", left)
				}
				return
			}
			if err != nil || !strings.Contains(out, "attractor v0.987.0 stub is installed in "+home+"/.local/bin") {
				t.Errorf("%v\n%s", err, out)
			}
			want := "bin/attractor bin/attractor-env bin/attractor-remote " +
				"share/bash-completion/completions/attractor share/fish/vendor_completions.d/attractor.fish " +
				"share/man/man1/attractor-run.1 share/man/man1/attractor.1 share/zsh/site-functions/_attractor"
			if got := strings.Join(filesBelow(t, filepath.Join(home, ".local")), " "); got != want {
				t.Errorf("installed %s\nnot %s", got, want)
			}
		})
	}
}

// An update replaces a program that runs, and a download that is cut off leaves the one that is
// there.
func TestQ5_InstallScriptUpdates(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("the script is for Linux and macOS")
	}
	peer.Need(t, "curl")
	prefix := t.TempDir()
	vars := []string{"PATH=" + os.Getenv("PATH"), "ATTRACTOR_PREFIX=" + prefix}
	old := strings.ReplaceAll(stub, "v0.987.0", "v0.986.0")
	if out, err := installed(t, append(vars, "ATTRACTOR_MIRROR="+served(t, newDist(t, old)))); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	broken := newDist(t, "#!/bin/sh\nexit 1\n")
	if out, err := installed(t, append(vars, "ATTRACTOR_MIRROR=file://"+broken)); err == nil ||
		!strings.Contains(out, "does not run on this machine") {
		t.Errorf("%v\n%s", err, out)
	}
	program := filepath.Join(prefix, "bin", "attractor")
	if got := read(t, program); got != old {
		t.Errorf("the old program is %q", got)
	}
	if out, err := installed(t, append(vars, "ATTRACTOR_MIRROR=file://"+newDist(t, stub))); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if got := read(t, program); got != stub {
		t.Errorf("the new program is %q", got)
	}
	if got := filesBelow(t, filepath.Join(prefix, "bin")); len(got) != 3 {
		t.Errorf("left beside the programs: %v", got)
	}
}

// installed runs install.sh as the README says, from a pipe.
func installed(t *testing.T, vars []string) (string, error) {
	t.Helper()
	script, err := os.Open("../../install.sh")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = script.Close() }() // it was only read
	cmd := exec.CommandContext(t.Context(), peer.Need(t, "sh"))
	cmd.Stdin, cmd.Env, cmd.Dir = script, vars, t.TempDir()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// toolsWithout returns a directory with what a small machine has in PATH, less some.
func toolsWithout(t *testing.T, without []string) string {
	t.Helper()
	dir := t.TempDir()
	for _, tool := range []string{"sh", "uname", "mktemp", "rm", "sed", "grep", "cut", "tar", "gzip", "mkdir",
		"dirname", "cp", "chmod", "mv", "curl", "wget", "sha256sum", "openssl"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(dir, tool)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tool := range without {
		if err := os.Remove(filepath.Join(dir, tool)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	return dir
}

// filesBelow returns the files below a directory that may not exist, sorted.
func filesBelow(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path) // it is below
			names = append(names, name)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return names
}
