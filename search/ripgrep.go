package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// ripgrepFrom is how many bytes of files the engine looks through itself before ripgrep is asked about the rest, if that is as
// much again. For less the start of a process does not pay, and a search for something frequent has ended by then.
const ripgrepFrom = 4 << 20

// maxRipgrepError is how much of what ripgrep complains about is kept.
const maxRipgrepError = 1 << 10

// ripgrepEnd is the last name that the script prints, if it got that far. It is no absolute path, so no file has it.
const ripgrepEnd = "end"

// ripgrepScript prints which of the files on its input, all NUL-terminated, match the pattern in its environment. No part of it
// comes from outside, so nothing needs quoting. It fails if ripgrep is not there, cannot read a file or does not take the
// pattern; that nothing matches is no failure.
const ripgrepScript = `command -v rg >/dev/null || exit 3
xargs -0 sh -c 'rg --no-config --no-messages --no-ignore --hidden --text --encoding none --no-mmap --color never --files-with-matches --null ` +
	`-e "$ATTRACTOR_RG_PATTERN" -- "$@"; test $? -le 1' sh && printf '` + ripgrepEnd + `\0'`

// ripgrep says which files may have something to find: the engine then opens these alone. So what a search returns, and in which
// order, is decided here whether ripgrep is there or not; it only has to name no file too few. To that end
//
//   - it gets the files by name, those that the walk found, and knows nothing of ignore rules;
//   - it gets the pattern as rustPattern writes it, which matches wherever the engine's does;
//   - it also names files with a NUL byte, since which of them are binary is decided here;
//   - files with lines so long that the engine searches them in pieces are not its business.
//
// An error means that nothing is known.
func (g *grepper) ripgrep(ctx context.Context, files []entry) error {
	pattern, err := rustPattern(g.query)
	if err != nil {
		return err
	}
	var out, complaints bytes.Buffer
	p, err := g.env.Start(ctx, env.Command{
		Script: ripgrepScript,
		Env:    []string{"ATTRACTOR_RG_PATTERN=" + pattern},
		Stdin:  true,
		Output: func(stream int, p []byte) {
			if stream == env.Stdout {
				out.Write(p)
			} else if complaints.Len() < maxRipgrepError {
				complaints.Write(p)
			}
		},
	})
	if err != nil {
		return err
	}
	exit, err := feed(ctx, p, files)
	switch {
	case err != nil:
		return err
	case exit.Code != 0 || complaints.Len() > 0:
		return fmt.Errorf("ripgrep: exit code %d, %s", exit.Code, complaints.String())
	}
	g.candidates = map[string]bool{}
	for name := range strings.SplitSeq(out.String(), "\x00") {
		g.candidates[name] = true
	}
	if !g.candidates[ripgrepEnd] {
		return errors.New("ripgrep: the output is not complete")
	}
	return nil
}

// feed gives a process the names of files and waits for its end. When the context ends first, the process is killed.
func feed(ctx context.Context, p env.Process, files []entry) (env.Exit, error) {
	fed := make(chan error, 1)
	go func() {
		var names bytes.Buffer
		for _, f := range files {
			names.WriteString(f.abs + "\x00")
		}
		_, err := io.Copy(p.Stdin(), &names)
		fed <- errors.Join(err, p.Stdin().Close())
	}()
	exit, err := p.Wait(ctx)
	if err != nil || exit.Code != 0 { // it may have left its input unread
		err = errors.Join(err, p.Kill(context.WithoutCancel(ctx)), p.Stdin().Close())
	}
	return exit, errors.Join(err, <-fed)
}

// ripgrepMayPay says whether ripgrep is faster than the engine at this pattern. Where a text must be in every match, the engine
// looks for that, and what matches the empty line matches nearly everywhere.
func (g *grepper) ripgrepMayPay() bool {
	return g.env.Platform().Shell != "" && g.matcher.literals.empty() && !g.matcher.re.MatchString("")
}

// split is the files up to a number of bytes, and the rest if it has as many.
func split(files []entry, size int64) (first, rest []entry) {
	var before, behind int64
	at := len(files)
	for i, f := range files {
		if before < size {
			before += f.info.Size
			at = i + 1
			continue
		}
		behind += f.info.Size
	}
	if behind < size {
		return files, nil
	}
	return files[:at], files[at:]
}
