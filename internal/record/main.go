package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	out := flag.String("o", "docs/demo.svg", "write the recording to this `file`")
	flag.Parse()
	if err := run(ctx, *out); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string) error {
	temp, err := os.MkdirTemp("", "record")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	film, err := play(ctx, temp, watched())
	if err != nil {
		return err
	}
	picture, err := film.svg()
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, picture, 0o644); err != nil {
		return err
	}
	fmt.Printf("%s: %d bytes, %d frames, %.1f s\n", out, len(picture), len(film.frames), film.length.Seconds())
	return nil
}

// build builds the command into a directory.
func build(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, "attractor"),
		"github.com/attractor-go/attractor/cmd/attractor")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}
