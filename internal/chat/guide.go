package chat

import (
	"context"
	"strings"
)

// guideTask is what /init asks the model for.
const guideTask = `Write the file AGENTS.md in the working directory: what an agent that has never seen this project has to know before its first change.

Look first at what is here: the README, the manifests and build files, the configuration of the CI, the layout of the source, and existing instructions such as AGENTS.md, CLAUDE.md, GEMINI.md, .cursor/rules and .github/copilot-instructions.md.

Put into it, as far as the project shows it:
- the commands that build, check and test all of it, and one test alone;
- where things are, and how the main parts work together, as far as several files have to be read to see it;
- conventions of code, tests and commits that differ from what is usual;
- what is easily broken, and how it is noticed.

Write only what you have seen, and try the commands where that is harmless. Keep it short, at most about 100 lines: no list of all files, no general advice, nothing that one look at the code tells. If there is an AGENTS.md, keep what is still true and improve the rest. Change no other file. At the end, say in a few sentences what you were not sure of.`

// guide implements /init: it asks the model for an AGENTS.md. What follows the command goes with
// it.
func (p *program) guide(arguments string) {
	c := p.current
	text := strings.TrimSpace("/init "+arguments) + "\n\n" + guideTask
	p.work(c, func(ctx context.Context) error { return c.lines.Send(ctx, text, true) })
}
