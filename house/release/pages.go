package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra/doc"

	"github.com/attractor-go/attractor/internal/cli"
)

// pages writes the manual and the completions of attractor below a directory, which
// .goreleaser.yaml puts into the archives: man/*.1, completions/attractor.bash, _attractor for zsh,
// attractor.fish, and licenses.txt. The manual has the date of the commit that is checked out. The
// working directory is the top of the repository.
func pages(ctx context.Context, dir string) error {
	printed, err := (&release{}).git(ctx, ".", "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(printed), 10, 64)
	if err != nil {
		return err
	}
	date := time.Unix(seconds, 0).UTC()
	man, completions := filepath.Join(dir, "man"), filepath.Join(dir, "completions")
	if err := errors.Join(os.RemoveAll(man), os.RemoveAll(completions), os.MkdirAll(man, 0o777),
		os.MkdirAll(completions, 0o777)); err != nil {
		return err
	}
	text, err := notices(ctx)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "licenses.txt"), []byte(text), 0o666); err != nil {
		return err
	}
	root := cli.Command()
	root.DisableAutoGenTag = true // it has the day of the build
	if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Date: &date, Source: "Attractor"}, man); err != nil {
		return err
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"attractor.bash": func(b *bytes.Buffer) error { return root.GenBashCompletionV2(b, true) },
		"_attractor":     func(b *bytes.Buffer) error { return root.GenZshCompletion(b) },
		"attractor.fish": func(b *bytes.Buffer) error { return root.GenFishCompletion(b, true) },
	} {
		var script bytes.Buffer
		if err := write(&script); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(completions, name), script.Bytes(), 0o666); err != nil {
			return err
		}
	}
	return nil
}
