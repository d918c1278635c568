// Command find searches the working directory with package search and prints what ripgrep would, so
// that they can be compared.
//
//	find grep PATTERN [-i]
//	find glob PATTERN
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/search"
)

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2], len(os.Args) > 3); err != nil {
		fmt.Fprintln(os.Stderr, "find:", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, what, pattern string, ignoreCase bool) error {
	local, err := env.NewLocal(".", env.LocalOptions{})
	if err != nil {
		return err
	}
	defer local.Close()
	out := bufio.NewWriter(os.Stdout)
	if what == "glob" {
		list, err := search.Glob(ctx, local, pattern, "")
		if err != nil {
			return err
		}
		for _, f := range list.Files {
			fmt.Fprintln(out, f.Path)
		}
		return out.Flush()
	}
	found, err := search.Grep(ctx, local, search.Query{Pattern: pattern, IgnoreCase: ignoreCase})
	if err != nil {
		return err
	}
	for _, f := range found.Files {
		for _, l := range f.Lines {
			fmt.Fprintf(out, "%s:%d:%s\n", f.Path, l.Number, l.Text)
		}
	}
	return out.Flush()
}
