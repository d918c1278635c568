package remote_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/remote"
	"github.com/attractor-go/attractor/env/remote/serve"
	"github.com/attractor-go/attractor/search"
)

// The directory /src of a container is an environment like any other. Nothing but sh has to be in
// the container.
func ExampleDial() {
	ctx := context.Background()
	box, err := remote.Dial(ctx, []string{"docker", "exec", "-i", "box"}, remote.DialOptions{
		Options: remote.Options{Dir: "/src"},
		// built with CGO_ENABLED=0; it is uploaded once
		Helper: func(_ context.Context, goos, goarch string) (string, error) {
			return fmt.Sprintf("helpers/attractor-remote-%s-%s", goos, goarch), nil
		},
		Log: func(line string) { log.Print(line) },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer box.Close()
	if _, err := env.Run(ctx, box, env.Command{Script: "go test ./...",
		Output: func(_ int, p []byte) { os.Stdout.Write(p) }}, 5*time.Minute); err != nil {
		log.Fatal(err)
	}
}

// Any stream of bytes will do. Here it is a pipe, and the far side is in this process.
func ExampleNew() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- serve.Serve(ctx, far) }()

	e, err := remote.New(ctx, near, remote.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	if err := e.WriteFile(ctx, "greet.txt", []byte("Hello!\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	output, run, err := env.Output(ctx, e, env.Command{Script: "cat greet.txt"}, time.Minute)
	fmt.Printf("%sexit code %d, %v\n", output, run.Code, err)
	found, err := search.Grep(ctx, e, search.Query{Pattern: "Hel+o"}) // the search runs over there
	fmt.Println(found.Files[0].Path, err)
	fmt.Println(errors.Join(e.Close(), <-served))
	// Output:
	// Hello!
	// exit code 0, <nil>
	// greet.txt <nil>
	// <nil>
}
