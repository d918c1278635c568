package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/attractor-go/attractor/internal/host"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/tool"
)

// permission allows or refuses calls as the flags say, and asks on the terminal about those that a person decides.
type permission struct {
	host.Permission
	answer io.Reader // the terminal, with host.Ask
	err    io.Writer
	input  inputLine

	mu    sync.Mutex
	lines *bufio.Reader
	all   bool // the person has allowed everything from now on
}

// permission returns the permission whose flag is given. Without one it asks, if there is a terminal.
func (f *runFlags) permission(t terminal) (*permission, error) {
	p := &permission{err: t.err}
	switch {
	case f.yes:
		p.Permission = host.AllowAll
		return p, nil
	case f.readOnly:
		p.Permission = host.ReadOnly
		return p, nil
	}
	var ok bool
	if p.answer, ok = openTerminal(t.in); !ok {
		if f.ask {
			return nil, fail(exitUsage, "--ask needs a terminal to ask on")
		}
		return nil, fail(exitUsage, "there is no terminal to ask for permission; pass --yes to allow all tool calls, or --read-only to refuse those that change or run anything")
	}
	return p, nil
}

// openTerminal returns standard input if it is a terminal, else the controlling terminal, because the prompt may come through a pipe.
func openTerminal(stdin io.Reader) (io.Reader, bool) {
	if f, ok := stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f, true
	}
	tty, err := os.Open("/dev/tty")
	return tty, err == nil
}

// approve asks the person about a call. It implements tool.Authorize.
func (p *permission) approve(ctx context.Context, req tool.Request) (tool.Decision, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil { // ended while the person was asked something else
		return tool.Decision{}, context.Cause(ctx)
	}
	if p.all && len(req.Access.Guarded) == 0 { // changes of guarded files are asked about each time
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	return p.ask(ctx, req)
}

func (p *permission) ask(ctx context.Context, req tool.Request) (tool.Decision, error) {
	fmt.Fprintf(p.err, "\n%s\n", question(req))
	line, err := p.readLine(ctx, "Allow it? [y]es, [a]ll from now on, [n]o (a reason may follow): ")
	if err != nil {
		return tool.Decision{}, err
	}
	word, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch strings.ToLower(word) {
	case "a", "all":
		p.all = true
		fallthrough
	case "y", "yes":
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	return tool.Decision{Reason: strings.TrimSpace("the user said no. " + reason)}, nil
}

func question(req tool.Request) string {
	if req.Access.Command != "" {
		return "The agent wants to run:\n  " + strings.ReplaceAll(sanitize.Text(req.Access.Command), "\n", "\n  ")
	}
	text := fmt.Sprintf("The agent wants to call %s %s", oneLine(req.Call.Name), oneLine(req.Call.Args))
	for _, g := range req.Access.Guarded {
		text += fmt.Sprintf("\n  It changes %s: %s.", oneLine(g.Path), oneLine(g.Why))
	}
	return text
}

// readLine writes a label and returns the next line, or an error when the context ends first. A line that is typed after that answers the
// next question.
func (p *permission) readLine(ctx context.Context, label string) (string, error) {
	p.input.begin(p.err, label)
	typed := false
	defer func() { p.input.end(typed) }()
	if p.lines == nil {
		p.lines = bufio.NewReader(p.answer)
	}
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		line, err := p.lines.ReadString('\n')
		done <- read{line, err}
	}()
	select {
	case r := <-done:
		if r.err != nil && r.line == "" {
			return "", errors.New("nobody answered")
		}
		typed = true
		return r.line, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
