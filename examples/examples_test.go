// Package examples_test runs each example as a process against a scripted server, and compares what
// it prints with the comment at its top.
package examples_test

import (
	"bytes"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// maxLines is how long an example may be.
const maxLines = 80

// example checks what an example prints. The model is scripted, the directory holds the files, and
// the arguments are those in the comment.
func example(t *testing.T, name string, files map[string]string, model fakellm.Model, args ...string) {
	t.Helper()
	dir := t.TempDir()
	for path, text := range files {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	prints(t, name, command(t, name, dir, model, args...))
}

// programs is the directory with the programs of all examples.
var programs string

// TestMain builds them together, because most of the time goes into linking.
func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "examples"); err != nil {
		log.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", programs, "./...").CombinedOutput(); err != nil {
		log.Fatalf("%v\n%s", err, out)
	}
	code := m.Run()
	if err := os.RemoveAll(programs); err != nil {
		log.Print(err)
	}
	os.Exit(code)
}

// command returns an example to run in a directory, with a scripted model that lives as long as the
// test.
func command(t *testing.T, name, dir string, model fakellm.Model, args ...string) *exec.Cmd {
	t.Helper()
	server := httptest.NewServer(fakellm.New(model, fakellm.Options{}))
	t.Cleanup(server.Close)
	cmd := exec.CommandContext(t.Context(), filepath.Join(programs, name), args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "ANTHROPIC_BASE_URL=" + server.URL,
		"ANTHROPIC_API_KEY=key-for-a-test"}
	return cmd
}

// prints runs the program of an example, and compares what it prints with the comment at the top of
// its source, which it also measures.
func prints(t *testing.T, name string, cmd *exec.Cmd) {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(name, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(source, []byte("\n")); n > maxLines {
		t.Errorf("%s has %d lines, and may have %d", name, n, maxLines)
	}
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if diff := cmp.Diff(promised(t, source), string(out)); diff != "" {
		t.Errorf("it does not print what its comment says (-comment +printed):\n%s", diff)
	}
}

// An example without its arguments says how it is used, or what it lacks, and does not panic.
func TestQ2_WithoutArguments(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob("*/main.go")
	if err != nil || len(sources) < 14 {
		t.Fatalf("%v, %v", sources, err)
	}
	for _, source := range sources {
		name := filepath.Dir(source)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, name, t.TempDir(), fakellm.Script(fakellm.Turn{Text: "What shall I do?"}))
			if out, err := cmd.CombinedOutput(); bytes.Contains(out, []byte("goroutine ")) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// promised returns the output in the comment of an example: the lines after the one with the
// command.
func promised(t *testing.T, source []byte) string {
	t.Helper()
	comment, _, _ := strings.Cut(string(source), "\npackage main")
	_, rest, found := strings.Cut(comment, "\n//\t$ ")
	if !found {
		t.Fatal("the comment shows no command")
	}
	var out strings.Builder
	for _, line := range strings.Split(rest, "\n")[1:] {
		text, is := strings.CutPrefix(line, "//\t")
		if !is {
			break
		}
		out.WriteString(text + "\n")
	}
	return out.String()
}

func TestQ2_Minimal(t *testing.T) {
	t.Parallel()
	example(t, "minimal", map[string]string{"README.md": "Greets whoever runs it.\n"}, fakellm.Script(
		fakellm.Turn{Text: "I'll read the README.",
			Calls: []fakellm.Call{{Name: "read_file", Args: []byte(`{"file_path":"README.md"}`)}}},
		fakellm.Turn{Text: "It greets whoever runs it."},
	), "What does this project do?")
}
