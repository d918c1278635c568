// Command once runs one search as a process of its own, so that its CPU time can be compared with that of ripgrep and fd. It prints
// what they print.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/search"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run searches the working directory as the flags say.
func run(ctx context.Context) error {
	var q search.Query
	flag.BoolVar(&q.IgnoreCase, "i", false, "ignore case")
	flag.IntVar(&q.Max, "max", 0, "limit of the results")
	flag.IntVar(&q.Before, "B", 0, "lines before a match")
	flag.IntVar(&q.After, "A", 0, "lines after a match")
	files := flag.Bool("l", false, "print the files with a match")
	counts := flag.Bool("c", false, "print the number of matches of each file")
	glob := flag.Bool("glob", false, "list the files that the argument, a pattern, matches")
	flag.Parse()
	switch {
	case *files:
		q.Mode = search.Files
	case *counts:
		q.Mode = search.Counts
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	e, err := env.NewLocal(dir, env.LocalOptions{Grace: -1, Containment: env.ContainGroup})
	if err != nil {
		return err
	}
	defer e.Close()
	out := bufio.NewWriterSize(os.Stdout, 64<<10)
	defer out.Flush()
	if *glob {
		l, err := search.Glob(ctx, e, flag.Arg(0), "")
		for _, f := range l.Files {
			out.WriteString(f.Path + "\n")
		}
		return err
	}
	q.Pattern = flag.Arg(0)
	r, err := search.Grep(ctx, e, q)
	for _, f := range r.Files {
		write(out, q.Mode, f)
	}
	return err
}

// write writes the matches of one file.
func write(out *bufio.Writer, mode search.Mode, f search.FileMatches) {
	switch mode {
	case search.Files:
		out.WriteString(f.Path + "\n")
	case search.Counts:
		out.WriteString(f.Path + ":" + strconv.Itoa(f.Count) + "\n")
	case search.Lines:
		for _, l := range f.Lines {
			sep := "-"
			if l.Match {
				sep = ":"
			}
			out.WriteString(f.Path + sep + strconv.Itoa(l.Number) + sep + l.Text + "\n")
		}
	}
}
