package envtest_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
)

// Code that uses an environment is tested without a disk. The test sets the files and sees what
// became of them.
func ExampleNewMemory() {
	ctx := context.Background()
	files := envtest.NewMemory(map[string]string{"notes/a.txt": "one\n"})

	f, err := files.Open(ctx, "notes/a.txt")
	if err != nil {
		log.Fatal(err)
	}
	text, err := io.ReadAll(f)
	fmt.Printf("%q %v\n", text, err)
	if err := files.WriteFile(ctx, "notes/b.txt", []byte("two\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", files.Files())
	// Output:
	// "one\n" <nil>
	// map["notes/a.txt":"one\n" "notes/b.txt":"two\n"]
}

// The commands of a Memory are functions.
func ExampleMemory() {
	ctx := context.Background()
	files := envtest.NewMemory(nil)
	files.Commands = func(ctx context.Context, cmd env.Command) env.Exit {
		if cmd.Script != "make" {
			return env.Exit{Code: 127}
		}
		if err := files.WriteFile(ctx, "out.txt", []byte("made\n"), 0o644); err != nil {
			return env.Exit{Code: 1}
		}
		cmd.Output(env.Stdout, []byte("1 file\n"))
		return env.Exit{}
	}
	for _, script := range []string{"make", "make clean"} {
		output, run, err := env.Output(ctx, files, env.Command{Script: script}, time.Minute)
		fmt.Printf("%sexit code %d, %v\n", output, run.Code, err)
	}
	fmt.Printf("%q\n", files.Files())
	// Output:
	// 1 file
	// exit code 0, <nil>
	// exit code 127, <nil>
	// map["out.txt":"made\n"]
}

// The test of an environment of your own is one call, here of one without commands.
func ExampleSuiteWith() {
	test := func(t *testing.T) {
		envtest.SuiteWith(t, func(*testing.T) env.Environment { return &envtest.Memory{} }, envtest.Options{
			Lacks: map[envtest.Feature]string{envtest.Commands: "it runs nothing", envtest.Links: "it has no links",
				envtest.FIFOs: "it has no FIFOs"},
		})
	}
	goTest("TestEnvironment", test)
	// Output:
	// TestEnvironment true
}

// goTest runs a test as go test does, and prints whether it has passed.
func goTest(name string, test func(t *testing.T)) {
	stdout := os.Stdout
	os.Stdout = os.Stderr // what tests report is not the example's output
	ok := testing.RunTests(func(_, _ string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: name, F: test}})
	os.Stdout = stdout
	fmt.Println(name, ok)
}
