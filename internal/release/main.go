package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/release v0.1.0")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run prepares the version from the checkout in the working directory, tries it, and prints how to publish it.
func run(ctx context.Context, version string) error {
	r := release{version: version, checkout: ".", out: os.Stdout}
	if err := r.check(ctx); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "attractor-release-")
	if err != nil {
		return err
	}
	r.dir = dir
	for _, step := range []func(context.Context) error{r.prepare, r.try, r.publishing} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("%w\nwhat was made of the release until then is in %s", err, dir)
		}
	}
	return nil
}
