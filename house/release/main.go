package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

const usage = `usage:
  go -C house run ./release v0.1.0              make and try the tags of a release
  go -C house run ./release pages DIR           write the manual and the completions
  go -C house run ./release packages DIR [URL]  make the packages of npm and Homebrew of what goreleaser has made in DIR
Directories are relative to the top of the repository.`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// command runs a command line and returns its exit code.
func command(ctx context.Context, args []string) int {
	err := toTop(ctx)
	switch {
	case err != nil:
	case len(args) == 2 && args[0] == "pages":
		err = pages(ctx, args[1])
	case (len(args) == 2 || len(args) == 3) && args[0] == "packages":
		err = packages(os.Stdout, args[1], append(args, "")[2])
	case len(args) == 1 && args[0] != "pages" && args[0] != "packages":
		err = tagged(ctx, args[0])
	default:
		fmt.Fprintln(os.Stderr, usage)
		return 2
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		return 1
	}
	return 0
}

// toTop goes to the top of the repository, because go -C house run begins in the module of this
// program.
func toTop(ctx context.Context) error {
	top, err := (&release{}).git(ctx, ".", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	return os.Chdir(strings.TrimSuffix(top, "\n"))
}

// tagged prepares the tags of a version from the checkout in the working directory, tries them, and
// prints how to publish them.
func tagged(ctx context.Context, version string) error {
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
