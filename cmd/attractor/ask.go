package main

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/attractor-go/attractor/internal/host"
	"github.com/attractor-go/attractor/sanitize"
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
	fmt.Fprintf(a.out, "\n%s\n%s\n", question(q), choices(q.Allow))
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
		fmt.Fprintf(a.out, "attractor: the rule could not be kept, so it counts for this session only: %s\n", plainError(err.Error()))
		return
	}
	fmt.Fprintf(a.out, "Kept in %s\n", oneLine(file))
}

// choices returns the answers that a person can give.
func choices(allow []string) string {
	list := "  y  yes, once\n"
	if allow != nil {
		list += "  a  yes, and in this session always"
		for _, rule := range allow {
			list += "\n       " + oneLine(rule)
		}
		list += "\n  p  the same, in later sessions in any directory too\n"
	}
	return list + "  n  no; what you type after it is told to the agent"
}

// question returns what a person is told about a call. Nothing is left out, and characters that cannot be seen are escapes.
func question(q host.Question) string {
	var b strings.Builder
	who := "The agent"
	if q.AgentID != "" {
		who = "The subagent " + oneLine(q.AgentID)
	}
	switch {
	case len(q.Refused) > 0:
		fmt.Fprintf(&b, "%s ran this in the sandbox:\n%s", who, indented(q.Access.Command, "  "))
	case q.Access.Command != "":
		fmt.Fprintf(&b, "%s wants to run%s:\n%s", who, lineCount(q.Access.Command), indented(q.Access.Command, "  "))
	default:
		fmt.Fprintf(&b, "%s wants to call %s:\n", who, oneLine(q.Call.Name))
	}
	b.WriteString(callArguments(q.Call.Args, q.Access.Command))
	if words := lookalikes(judged(q)); len(words) > 0 {
		fmt.Fprintf(&b, "Careful, some characters only look like others: %s\n", strings.Join(words, ", "))
	}
	if q.Dir != "" {
		fmt.Fprintf(&b, "In the directory %s.\n", oneLine(q.Dir))
	}
	for _, link := range q.Links {
		fmt.Fprintf(&b, "%s leads to %s.\n", oneLine(link.Path), oneLine(link.Target))
	}
	for _, g := range q.Access.Guarded {
		fmt.Fprintf(&b, "It changes %s: %s.\n", oneLine(g.Path), oneLine(g.Why))
	}
	if q.Reason != "" && len(q.Access.Guarded) == 0 {
		fmt.Fprintf(&b, "Asked because %s.\n", strings.TrimSuffix(oneLine(q.Reason), "."))
	}
	if q.Rule != "" {
		fmt.Fprintf(&b, "The rule is %s.\n", oneLine(q.Rule))
	}
	for _, refused := range q.Refused {
		fmt.Fprintf(&b, "The sandbox refused: %s\n", oneLine(refused))
	}
	if len(q.Refused) > 0 {
		b.WriteString("Yes runs it again, once and outside the sandbox.\n")
	}
	if q.Problem != "" {
		fmt.Fprintf(&b, "The last answer cannot be used: %s.\n", strings.TrimSuffix(oneLine(q.Problem), "."))
	}
	return b.String()
}

// judged returns the text that decides what a call does: its command, or what names its files and hosts.
func judged(q host.Question) string {
	if q.Access.Command != "" || len(q.Access.Hosts) == 0 {
		return strings.Join(append([]string{q.Access.Command}, q.Access.Paths...), "\n")
	}
	return callArguments(q.Call.Args, "")
}

// lineCount returns how long a script is, in words, if that is not obvious.
func lineCount(script string) string {
	if n := strings.Count(strings.TrimSuffix(script, "\n"), "\n") + 1; n > 10 {
		return fmt.Sprintf(" these %d lines", n)
	}
	if n := utf8.RuneCountInString(script); n > 2000 {
		return fmt.Sprintf(" this, which has %d characters", n)
	}
	return ""
}

// indented returns a cleaned text with the prefix in front of each line. Its last line has an end.
func indented(text, prefix string) string {
	text = strings.TrimSuffix(sanitize.Text(text), "\n")
	return prefix + strings.ReplaceAll(text, "\n", "\n"+prefix) + "\n"
}
