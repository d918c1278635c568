package render

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/sanitize"
)

// Choices returns the answers that a person can give about a call or a plan.
func Choices(q permit.Question) string {
	if q.Plan != "" {
		return "  y  yes; you are asked about each change\n" +
			"  a  yes, and files in the session's directories change without a question\n" +
			"  n  no, go on planning; what you type after it is told to the agent"
	}
	list := "  y  yes, once\n"
	if q.Allow != nil {
		list += "  a  yes, and in this session always"
		for _, rule := range q.Allow {
			list += "\n       " + sanitize.Blanks(OneLine(rule))
		}
		if q.Project != "" {
			list += "\n  p  the same, and in later sessions in this project"
		}
		list += "\n  g  the same, and in later sessions everywhere\n"
	}
	return list + "  n  no; what you type after it is told to the agent"
}

// plan returns what a person is told about a plan.
func plan(q permit.Question) string {
	text := "The agent wants to leave plan mode and to carry out this plan:\n" + indented(q.Plan, "  ")
	if q.Problem != "" {
		text += fmt.Sprintf("The last answer cannot be used: %s.\n", strings.TrimSuffix(OneLine(q.Problem), "."))
	}
	return text
}

// Question returns what a person is told about a call. Nothing is left out. Characters that cannot
// be seen or look blank are replaced by escapes, and long runs of white space by their length.
// [InRows] prepares it for a terminal.
func Question(q permit.Question) string {
	if q.Plan != "" {
		return squeezed(sanitize.Blanks(plan(q)))
	}
	return squeezed(sanitize.Blanks(aboutCall(q)))
}

// aboutCall returns what a person is told about a call, with the characters that look blank.
func aboutCall(q permit.Question) string {
	var b strings.Builder
	who := "The agent"
	if q.AgentID != "" {
		who = "The subagent " + OneLine(q.AgentID)
	}
	switch {
	case len(q.Refused) > 0:
		fmt.Fprintf(&b, "%s ran this in the sandbox:\n%s", who, indented(q.Access.Command, "  "))
	case q.Access.Command != "":
		fmt.Fprintf(&b, "%s wants to run%s:\n%s", who, lineCount(q.Access.Command), indented(q.Access.Command, "  "))
	case len(q.Changes) > 0:
		b.WriteString(changesOf(who, q))
	default:
		fmt.Fprintf(&b, "%s wants to call %s:\n", who, OneLine(q.Call.Name))
	}
	if len(q.Changes) == 0 {
		b.WriteString(callArguments(q.Call.Args, q.Access.Command))
	}
	b.WriteString(extent(squeezed(b.String())))
	if words := lookalikes(judged(q)); len(words) > 0 {
		fmt.Fprintf(&b, "Careful, some characters only look like others: %s\n", strings.Join(words, ", "))
	}
	if q.CommandDir != "" {
		fmt.Fprintf(&b, "In the directory %s.\n", OneLine(q.CommandDir))
	}
	for _, link := range q.Links {
		fmt.Fprintf(&b, "%s leads to %s.\n", OneLine(link.Path), OneLine(link.Target))
	}
	b.WriteString(reasons(q))
	if q.Rule != "" {
		fmt.Fprintf(&b, "The rule is %s.\n", OneLine(q.Rule))
	}
	for _, refused := range q.Refused {
		fmt.Fprintf(&b, "The sandbox refused: %s\n", OneLine(refused))
	}
	if len(q.Refused) > 0 {
		b.WriteString("Yes runs it again, once and outside the sandbox.\n")
	}
	if q.Problem != "" {
		fmt.Fprintf(&b, "The last answer cannot be used: %s.\n", strings.TrimSuffix(OneLine(q.Problem), "."))
	}
	return b.String()
}

// extent returns the size of a call that may be longer than a screen, in words: a part of such a
// call may look like a question of its own.
func extent(call string) string {
	const lines, characters = 15, 1_000
	n, m := strings.Count(call, "\n")-1, utf8.RuneCountInString(call)
	if n <= lines && m <= characters {
		return ""
	}
	return fmt.Sprintf("All of this is one call, with %s and %s.\n", Count(n, "line"), Count(m, "character"))
}

// reasons returns why a call is asked about: the files that it touches and that have secrets or
// start something, and then everything else.
func reasons(q permit.Question) string {
	var b strings.Builder
	said, named := map[string]bool{}, map[string]bool{}
	touches := func(verb, path, why string) {
		if said[path+": "+why] = true; !named[verb+" "+path] {
			fmt.Fprintf(&b, "It %s %s: %s.\n", verb, OneLine(path), OneLine(why))
			named[verb+" "+path] = true
		}
	}
	for _, g := range q.Access.Guarded {
		touches("changes", g.Path, g.Why)
	}
	for _, t := range q.Touches {
		if t.Changes {
			touches("changes", t.Path, t.Why)
		} else {
			touches("uses", t.Path, t.Why)
		}
	}
	var others []string
	for _, why := range q.Reasons {
		if !said[why] {
			others = append(others, strings.TrimSuffix(OneLine(why), "."))
		}
	}
	if q.Reasons == nil && q.Reason != "" && len(said) == 0 {
		others = []string{strings.TrimSuffix(OneLine(q.Reason), ".")}
	}
	switch len(others) {
	case 0:
	case 1:
		fmt.Fprintf(&b, "Asked because %s.\n", others[0])
	default:
		fmt.Fprintf(&b, "Asked because:\n  - %s\n", strings.Join(others, "\n  - "))
	}
	return b.String()
}

// judged returns the text that decides what a call does: its command, or what names its files and
// hosts.
func judged(q permit.Question) string {
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
