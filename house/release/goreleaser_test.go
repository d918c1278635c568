package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"
)

// The configuration is one that goreleaser takes, by the schema of the version in
// .ci/goreleaser/go.mod (goreleaser jsonschema), and builds programs that are there.
func TestQ5_Goreleaser(t *testing.T) {
	var value any
	if err := yaml.Unmarshal([]byte(read(t, "../../.goreleaser.yaml")), &value); err != nil {
		t.Fatal(err)
	}
	if err := configurationError(t, value); err != nil {
		t.Error(err)
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Builds []struct{ Main, Binary string }
	}
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	if len(config.Builds) == 0 {
		t.Error("it builds nothing")
	}
	for _, b := range config.Builds {
		if _, err := os.Stat(filepath.Join("../..", b.Main, "main.go")); err != nil {
			t.Errorf("%s: %v", b.Binary, err)
		}
	}
	value.(map[string]any)["archive"] = true
	if err := configurationError(t, value); err == nil {
		t.Error("a member that goreleaser does not know is not noticed")
	}
}

func configurationError(t *testing.T, value any) error {
	t.Helper()
	var schema jsonschema.Schema
	if err := json.Unmarshal([]byte(read(t, "testdata/goreleaser.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved.Validate(value)
}

var snapshot = flag.Bool("release.snapshot", false,
	"make a release with goreleaser, and install it in each way; some ten minutes of processor time")

// A release that goreleaser makes is installed in each way, and runs.
func TestQ5_Snapshot(t *testing.T) {
	if !*snapshot {
		t.Skip("without -release.snapshot")
	}
	checkout := cloneOfThis(t)
	goreleaser := exec.CommandContext(t.Context(), "go", "tool", "-modfile=.ci/goreleaser/go.mod", "goreleaser",
		"release", "--snapshot", "--clean")
	goreleaser.Dir = checkout
	goreleaser.Env = append(os.Environ(), "PWD="+checkout)
	out, err := output(goreleaser)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(out)
	dist := filepath.Join(checkout, "dist")
	url := served(t, dist)
	list, err := archives(dist)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 6 {
		t.Errorf("there are %d archives", len(list))
	}
	for _, a := range list {
		for _, program := range programsOf(t, a) {
			bom := filepath.Join(dist, fmt.Sprintf("%s_%s_%s_%s.cdx.json", strings.TrimSuffix(program, ".exe"),
				a.version, a.os, a.arch))
			if strings.TrimSuffix(program, ".exe") == "attractor" && !strings.Contains(read(t, bom),
				"github.com/spf13/pflag") {
				t.Errorf("%s lacks what %s is made of", bom, program)
			}
		}
	}

	prefix := t.TempDir()
	if out, err := installed(t, []string{"PATH=" + os.Getenv("PATH"), "ATTRACTOR_PREFIX=" + prefix,
		"ATTRACTOR_MIRROR=" + url}); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	works(t, filepath.Join(prefix, "bin", "attractor"))

	var publish strings.Builder
	if err := packages(&publish, dist, url); err != nil {
		t.Fatal(err)
	}
	t.Log(publish.String())
	global := t.TempDir()
	npm(t, global, "install", "--global", "--prefix", global, "--registry", registry(t, filepath.Join(dist, "npm")),
		npmScope+"/attractor")
	works(t, filepath.Join(global, "bin", "attractor"))
}

// programsOf returns the names of the programs of an archive.
func programsOf(t *testing.T, a archive) (names []string) {
	t.Helper()
	if err := a.read(func(name string, _ []byte) {
		if strings.HasPrefix(place(name), "bin/") {
			names = append(names, name)
		}
	}); err != nil {
		t.Fatal(err)
	}
	want := 2
	if a.windows {
		want = 1
	}
	if len(names) != want {
		t.Errorf("%s has the programs %v", a.file, names)
	}
	return names
}

// works runs the program that was installed, in an empty home.
func works(t *testing.T, program string) {
	t.Helper()
	for _, arg := range []string{"--version", "demo"} {
		cmd := exec.CommandContext(t.Context(), program, arg)
		cmd.Dir, cmd.Env = t.TempDir(), []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
		out, err := output(cmd)
		if err != nil {
			t.Error(err)
		}
		if arg == "--version" && !strings.HasSuffix(strings.TrimSpace(out), runtime.Version()) {
			t.Errorf("%s prints %q", program, out)
		}
		t.Log(out[:min(len(out), 300)])
	}
}
