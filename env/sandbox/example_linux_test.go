package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
)

// Commands write in the working directory, and only read another one. They have no network, and see
// nothing of the home directory.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	work, data := filepath.Join(dir, "work"), filepath.Join(dir, "data")
	if err := errors.Join(os.Mkdir(work, 0o755), os.Mkdir(data, 0o755)); err != nil {
		log.Fatal(err)
	}

	box, err := sandbox.New(work, sandbox.Options{Level: sandbox.Workspace, ReadOnly: []string{data}})
	if err != nil {
		log.Fatal(err) // it says what to install
	}
	local, err := env.NewLocal(work, box.Confine(env.LocalOptions{ReadOnly: []string{data}}))
	if err != nil {
		log.Fatal(errors.Join(err, box.Close()))
	}
	e := env.Protect(local, box.Protection())
	for _, script := range []string{"echo made > made.txt", "echo made > ../data/made.txt"} {
		output, run, err := env.Output(ctx, e, env.Command{Script: script}, time.Minute)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("exit code", run.Code)
		for _, refusal := range box.Refusals(work, []byte(output), run.Code != 0) {
			fmt.Println(strings.ReplaceAll(refusal.Why, dir, "DIR"))
		}
	}
	fmt.Println(e.WriteFile(ctx, ".git/hooks/pre-commit", []byte("#!/bin/sh\n"), 0o755))
	fmt.Println(errors.Join(local.Close(), box.Close()))
	// Output:
	// exit code 0
	// exit code 1
	// The sandbox lets commands only read DIR/data/made.txt.
	// write .git/hooks/pre-commit: the file is protected: permission denied (.git can be changed by its own commands, but not by file tools)
	// <nil>
}
