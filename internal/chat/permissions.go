package chat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
)

// mostRules limits the rules with one verdict that /permissions lists.
const mostRules = 50

// showPermissions implements /permissions.
func (p *program) showPermissions(string) {
	setup := p.current.setup
	var b strings.Builder
	b.WriteString(p.Style.Prose(fmt.Sprintf("the mode is %s: %s\n", setup.Mode(), modeMeans(setup.Mode()))))
	list := setup.Rules.List()
	for _, group := range []struct {
		verdict tool.Verdict
		title   string
	}{{tool.Deny, "denied, in every mode"}, {tool.Ask, "asked about"}, {tool.Allow, "allowed"}} {
		of := slices.DeleteFunc(slices.Clone(list), func(r rules.Listed) bool { return r.Verdict != group.verdict })
		if len(of) == 0 {
			continue
		}
		b.WriteString(p.Style.Bold(group.title) + "\n")
		for _, r := range of[:min(len(of), mostRules)] {
			about := render.OneLine(r.Where)
			if r.Reason != "" {
				about += ": " + render.Shorten(r.Reason, 100)
			}
			b.WriteString(p.Style.Entry(render.OneLine(r.Rule), about))
		}
		if more := len(of) - mostRules; more > 0 {
			fmt.Fprintf(&b, "  … and %s\n", render.Count(more, "more rule"))
		}
	}
	if len(list) == 0 {
		b.WriteString(p.Style.Prose("there are no rules: reading in the session's directories is allowed\n"))
	}
	b.WriteString(p.Style.Faint(p.Style.Prose("/mode changes the mode; attractor rules --help, in a shell, says " +
		"where rules are kept")))
	p.say(b.String())
}

// modeMeans says what becomes of calls in a mode that no rule is about.
func modeMeans(m permit.Mode) string {
	switch m {
	case permit.ModeAcceptEdits:
		return "file tools change ordinary files in the session's directories without a question; what else does " +
			"more than read is asked about"
	case permit.ModePlan:
		return "what does more than read does not run until you have approved of a plan"
	case permit.ModeFull:
		return "nothing is asked about"
	case permit.ModeReadOnly:
		return "nothing that changes or runs something is allowed"
	}
	return "what does more than read is asked about"
}
