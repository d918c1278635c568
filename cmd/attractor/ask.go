package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/internal/host"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/tool"
)

// asker asks a person on the console about tool calls.
type asker struct {
	*console
	keep func(ctx context.Context, rules []string) (file string, err error) // keeps rules for later sessions
}

// maxTries limits how often a question is repeated because the answer was none.
const maxTries = 5

// ask implements [host.Asker].
func (a *asker) ask(ctx context.Context, q host.Question) (host.Answer, error) {
	release, err := a.take(ctx)
	if err != nil {
		return host.Answer{}, err
	}
	defer release()
	fmt.Fprintf(a.out, "\n%s\n%s\n", render.Question(q), render.Choices(q.Allow))
	for range maxTries {
		a.discard()
		line, err := a.readLine(ctx, askLabel)
		if err != nil {
			return host.Answer{}, err
		}
		word, rest, _ := strings.Cut(line, " ")
		switch word = strings.ToLower(word); {
		case word == "n" || word == "no":
			return host.Answer{Reason: strings.TrimSpace("the user said no. " + strings.TrimSpace(rest))}, nil
		case rest != "": // only a refusal has more words
		case word == "y" || word == "yes":
			return host.Answer{Verdict: tool.Allow}, nil
		case word == "a" && q.Allow != nil:
			return host.Answer{Verdict: tool.Allow, Remember: true}, nil
		case word == "p" && q.Allow != nil:
			a.keepRules(ctx, q.Allow)
			return host.Answer{Verdict: tool.Allow, Remember: true}, nil
		}
		fmt.Fprintf(a.out, "Please type one of the letters above and press Enter.\n")
	}
	return host.Answer{Reason: fmt.Sprintf("nobody answered the question with yes or no in %d tries", maxTries)}, nil
}

// keepRules keeps rules for later sessions and tells the person where.
func (a *asker) keepRules(ctx context.Context, allow []string) {
	file, err := a.keep(ctx, allow)
	if err != nil {
		fmt.Fprintf(a.out, "attractor: the rule could not be kept, so it counts for this session only: %s\n", render.Error(err.Error()))
		return
	}
	fmt.Fprintf(a.out, "Kept in %s\n", render.OneLine(file))
}
