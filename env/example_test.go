package env_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
)

// workspace returns an environment in a new directory, and its end. A program gives NewLocal the
// directory of a project.
func workspace() (local *env.Local, end func()) {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	if local, err = env.NewLocal(dir, env.LocalOptions{}); err != nil {
		log.Fatal(err)
	}
	return local, func() {
		if err := errors.Join(local.Close(), os.RemoveAll(dir)); err != nil {
			log.Fatal(err)
		}
	}
}

// A Local is a directory of this machine: its files and the commands that start there. Files
// outside are refused.
func ExampleNewLocal() {
	ctx := context.Background()
	local, end := workspace()
	defer end() // also ends everything that commands have left running

	if err := local.WriteFile(ctx, "notes/a.txt", []byte("one\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	output, run, err := env.Output(ctx, local, env.Command{Script: "cat notes/*"}, time.Minute)
	fmt.Printf("%sexit code %d, %v\n", output, run.Code, err)
	_, err = local.Open(ctx, "/etc/passwd")
	fmt.Println(errors.Is(err, fs.ErrPermission))
	// Output:
	// one
	// exit code 0, <nil>
	// true
}

// A command that fails is no error: the result has its exit.
func ExampleOutput() {
	ctx := context.Background()
	local, end := workspace()
	defer end()
	output, result, err := env.Output(ctx, local, env.Command{Script: "echo hello; echo there >&2; exit 3"},
		time.Minute)
	fmt.Printf("%s%d %v\n", output, result.Code, err)
	// Output:
	// hello
	// there
	// 3 <nil>
}

// A command that takes too long is ended, with everything that it has started.
func ExampleRun() {
	local, end := workspace()
	defer end()
	run, err := env.Run(context.Background(), local, env.Command{Script: "sleep 1000 & sleep 2000"},
		50*time.Millisecond)
	fmt.Println(run.TimedOut, err)
	// Output:
	// true <nil>
}

// A command gets input while it runs.
func ExampleProcess() {
	ctx := context.Background()
	local, end := workspace()
	defer end()
	p, err := local.Start(ctx, env.Command{Script: "read name && echo Hello, $name", Stdin: true,
		Output: func(_ int, p []byte) { fmt.Print(string(p)) }})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := io.WriteString(p.Stdin(), "Ada\n"); err != nil {
		log.Fatal(err)
	}
	exit, err := p.Wait(ctx)
	fmt.Println("exit code", exit.Code, err)
	// Output:
	// Hello, Ada
	// exit code 0 <nil>
}

// A change based on what was read fails if the file is another one by now.
func ExampleReplace() {
	ctx := context.Background()
	e := envtest.NewMemory(map[string]string{"a.txt": "one\n"})
	was := env.HashOf([]byte("one\n"))
	fmt.Println(env.Replace(ctx, e, "a.txt", was, []byte("two\n"), 0o644))
	err := env.Replace(ctx, e, "a.txt", was, []byte("three\n"), 0o644)
	fmt.Println(errors.Is(err, env.ErrChanged), e.Files()["a.txt"])
	// Output:
	// <nil>
	// true two
}

// Some files are protected, whatever tool wants to change them.
func ExampleProtect() {
	ctx := context.Background()
	e := env.Protect(envtest.NewMemory(nil), env.Protection{Refuse: []string{".git", "secrets/"}})
	for _, name := range []string{"main.go", ".git/config"} {
		err := e.WriteFile(ctx, name, []byte("text\n"), 0o644)
		fmt.Println(name, errors.Is(err, env.ErrProtected), err)
	}
	// Output:
	// main.go false <nil>
	// .git/config true write .git/config: the file is protected: permission denied (.git can be changed by its own commands, but not by file tools)
}

// noted is an environment that notes which files are opened.
type noted struct {
	env.Base
	names []string
}

func (n *noted) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	n.names = append(n.names, name)
	return n.Base.Open(ctx, name)
}

// A wrapper has the methods that it changes; Base forwards the others.
func ExampleBase() {
	ctx := context.Background()
	n := &noted{Base: env.Base{Environment: envtest.NewMemory(map[string]string{"a.txt": "hello"})}}
	for _, name := range []string{"a.txt", "b.txt"} {
		f, err := n.Open(ctx, name)
		if err != nil {
			fmt.Println(err)
			continue
		}
		text, err := io.ReadAll(f)
		fmt.Println(string(text), errors.Join(err, f.Close()))
	}
	fmt.Println(n.names, env.ConfinementOf(n).Containment == env.ConfinementOf(n.Environment).Containment)
	// Output:
	// hello <nil>
	// open b.txt: file does not exist
	// [a.txt b.txt] true
}
