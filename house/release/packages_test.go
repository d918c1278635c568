package main

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
)

// What npm installs is the program of this platform, which gets arguments, streams and signals, and
// whose end is the command's.
func TestQ5_NpmPackages(t *testing.T) {
	peer.Need(t, "npm")
	if runtime.GOOS == "windows" {
		t.Skip("the stub is a shell script")
	}
	dist := newDist(t, stub)
	if err := packages(io.Discard, dist, ""); err != nil {
		t.Fatal(err)
	}
	prefix := t.TempDir()
	npm(t, prefix, "install", "--global", "--prefix", prefix, "--registry", registry(t, filepath.Join(dist, "npm")),
		npmScope+"/attractor")
	program := filepath.Join(prefix, "bin", "attractor")
	if out, err := exec.CommandContext(t.Context(), program, "a b", "").CombinedOutput(); err != nil ||
		string(out) != "<a b><>" {
		t.Errorf("%q, %v", out, err)
	}
	var ended *exec.ExitError
	if err := exec.CommandContext(t.Context(), program, "exit").Run(); !errors.As(err, &ended) ||
		ended.ExitCode() != 7 {
		t.Errorf("%v instead of exit code 7", err)
	}
	terminated(t, program)
}

// terminated ends the program by a signal to what started it.
func terminated(t *testing.T, program string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "term")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "ready" {
		t.Errorf("it says %q", lines.Text())
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if !lines.Scan() || lines.Text() != "ended" {
		t.Errorf("after SIGTERM it says %q", lines.Text())
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 143 {
		t.Errorf("%v instead of exit code 143", err)
	}
}

// Without the package of the platform the command says what to do.
func TestQ5_NpmWithoutThePlatform(t *testing.T) {
	peer.Need(t, "npm")
	dist := newDist(t, stub)
	if err := packages(io.Discard, dist, ""); err != nil {
		t.Fatal(err)
	}
	prefix := t.TempDir()
	if err := os.RemoveAll(filepath.Join(dist, "npm",
		"attractor-"+nodeOS(runtime.GOOS)+"-"+nodeCPU(runtime.GOARCH))); err != nil {
		t.Fatal(err)
	}
	npm(t, prefix, "install", "--global", "--prefix", prefix, "--registry", registry(t, filepath.Join(dist, "npm")),
		npmScope+"/attractor")
	out, err := exec.CommandContext(t.Context(), filepath.Join(prefix, "bin", "attractor"),
		"--version").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "is not installed") || !strings.Contains(string(out),
		"--omit=optional") {
		t.Errorf("%v: %s", err, out)
	}
}

// npm runs npm, which finds no configuration and leaves nothing in the user's cache.
func npm(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), peer.Need(t, "npm"), args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "npm_config_cache="+filepath.Join(dir, "cache"),
		"npm_config_update_notifier=false", "npm_config_fund=false", "npm_config_audit=false")
	out, err := output(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// registry plays the registry of npm, with the packages whose directories are in dir.
func registry(t *testing.T, dir string) string {
	t.Helper()
	packed := t.TempDir()
	documents := map[string][]byte{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".tgz") {
			http.ServeFile(w, r, filepath.Join(packed, path.Base(r.URL.Path)))
			return
		}
		name, err := url.PathUnescape(strings.TrimPrefix(r.URL.EscapedPath(), "/"))
		if document := documents[name]; err == nil && document != nil {
			_, _ = w.Write(document) // npm says what it got
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		file := strings.TrimSpace(npm(t, packed, "pack", "--silent", "--pack-destination", packed,
			filepath.Join(dir, e.Name())))
		var m map[string]any
		if err := json.Unmarshal([]byte(read(t, filepath.Join(dir, e.Name(), "package.json"))), &m); err != nil {
			t.Fatal(err)
		}
		name, version := m["name"].(string), m["version"].(string)
		m["dist"] = map[string]any{"tarball": s.URL + "/" + file,
			"shasum": fmt.Sprintf("%x", sha1.Sum([]byte(read(t, filepath.Join(packed, file)))))}
		document := map[string]any{"name": name, "dist-tags": map[string]string{"latest": version},
			"versions": map[string]any{version: m}}
		var b bytes.Buffer
		if err := json.NewEncoder(&b).Encode(document); err != nil {
			t.Fatal(err)
		}
		documents[name] = b.Bytes()
	}
	return s.URL
}

// The formula has each archive with its checksum, at the place of the release.
func TestQ5_Formula(t *testing.T) {
	dist := newDist(t, stub)
	if err := packages(io.Discard, dist, ""); err != nil {
		t.Fatal(err)
	}
	text := read(t, filepath.Join(dist, "homebrew", "attractor.rb"))
	list, err := archives(dist)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		want := fmt.Sprintf("      url \"https://github.com/attractor-go/attractor/releases/download/v0.987.0/%s\"\n "+
			"     sha256 \"%s\"\n", a.file, a.sum)
		if has := strings.Contains(text, want); has == a.windows {
			t.Errorf("%s is in the formula: %v\n%s", a.file, has, text)
		}
	}
	if got := strings.Count(text, "sha256"); got != 4 {
		t.Errorf("%d archives:\n%s", got, text)
	}
	if ruby, err := exec.LookPath("ruby"); err != nil {
		t.Log("ruby is not there to check the syntax: ", err)
	} else if out, err := exec.CommandContext(t.Context(), ruby, "-c", filepath.Join(dist, "homebrew",
		"attractor.rb")).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestQ5_RefusedPackages(t *testing.T) {
	for want, spoil := range map[string]func(dist string){
		"checksums.txt names no archive": func(dist string) { write(t, filepath.Join(dist, "checksums.txt"), "") },
		"no such file":                   func(dist string) { _ = os.Remove(filepath.Join(dist, "checksums.txt")) },
		"linux_arm64.tar.gz has the checksum": func(dist string) {
			write(t, filepath.Join(dist, "attractor_0.987.0_linux_arm64.tar.gz"), "something else")
		},
	} {
		dist := newDist(t, stub)
		spoil(dist)
		if err := packages(io.Discard, dist, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// The manual has a page for each command, and the completions are those that the command prints.
func TestQ5_Pages(t *testing.T) {
	peer.Need(t, "git")
	dir := t.TempDir()
	t.Chdir("../..")
	if err := pages(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if text := read(t, filepath.Join(dir, "licenses.txt")); !strings.Contains(text, "== github.com/spf13/cobra v") ||
		!strings.Contains(text, "== go1.") {
		t.Errorf("the licenses are\n%.2000s", text)
	}
	for name, want := range map[string]string{"attractor.1": `.TH "ATTRACTOR" "1"`,
		"attractor-run.1": `\fB--sandbox\fP`, "attractor-sessions-show.1": "attractor-sessions(1)"} {
		if text := read(t, filepath.Join(dir, "man", name)); !strings.Contains(text, want) {
			t.Errorf("%s has no %q", name, want)
		}
	}
	for name, want := range map[string]string{"attractor.bash": "__start_attractor", "_attractor": "#compdef attractor",
		"attractor.fish": "complete -c attractor"} {
		if text := read(t, filepath.Join(dir, "completions", name)); !strings.Contains(text, want) {
			t.Errorf("%s has no %q", name, want)
		}
	}
}
