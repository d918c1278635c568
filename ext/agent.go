package ext

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Agent holds the definition of a subagent, which a model chooses by its name.
type Agent struct {
	Name string
	// Description tells the model when to choose it. It is one line.
	Description string
	// Tools and Without name tools as Claude Code's files do. AllTools says that there is no list,
	// so that the agent has all but those Without.
	Tools, Without []string
	AllTools       bool
	// Model is a model or one of the names inherit, sonnet, opus, haiku and fable. Empty means the
	// session's.
	Model, Effort string
	MaxTurns      int // 0 means no limit of its own
	// Plans says that the agent changes and runs nothing (permissionMode: plan).
	Plans bool
	// Worktree says that the agent works in a git worktree of its own (isolation: worktree).
	Worktree bool
	// Prompt is what the agent is told about itself.
	Prompt string

	File   string
	Origin Origin
}

// maxAgentPrompt limits the bytes of an agent's prompt, which is in each of its requests.
const maxAgentPrompt = 128 << 10

// The names of the agents that always exist.
const (
	generalPurpose = "general-purpose" // in the dialect of Claude Code
	generalist     = "generalist"      // in that of gemini-cli
)

var agentName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\pL\pN][\pL\pN_.:-]*$`) })

// ParseAgent reads a Markdown file with the definition of an agent. It returns nil if the file
// cannot be used. name is that of the file, without its extension, and is used if the file gives
// none.
func ParseAgent(f File, name string) (*Agent, []Mistake) {
	p := ParseFront(f)
	if p.refused {
		return nil, p.Mistakes()
	}
	a := &Agent{Name: p.Text("name"), Description: oneLine(p.Text("description")),
		Tools: p.Words("tools"), Without: p.Words("disallowedTools"),
		AllTools: p.find("tools") == nil, Model: p.Text("model"), Effort: p.Text("effort"),
		Prompt: strings.TrimSpace(p.Body), File: f.Name, Origin: f.Origin}
	if len(a.Tools) == 1 && a.Tools[0] == "*" {
		a.AllTools, a.Tools = true, nil
	}
	p.patterns("tools", a.Tools, "the agent gets the whole tool, and permission rules decide about its calls")
	p.patterns("disallowedTools", a.Without, "the agent does not get the tool at all")
	a.MaxTurns = p.count("maxTurns")
	switch mode := p.Text("permissionMode"); mode {
	case "", "default", "inherit":
	case "plan":
		a.Plans = true
	default:
		p.Mistake(p.Line("permissionMode"),
			"permissionMode %s has no effect: an agent may do what the session may, or with plan only read",
			shown(mode))
	}
	if isolation := p.Text("isolation"); isolation != "" {
		if a.Worktree = isolation == "worktree"; !a.Worktree {
			p.Mistake(p.Line("isolation"), "isolation can only be worktree, not %s, so it has no effect",
				shown(isolation))
		}
	}
	p.Unsupported("skills are there for all agents", "skills")
	p.Unsupported("servers are configured in .mcp.json", "mcpServers")
	p.Unsupported("hooks are configured in settings files", "hooks")
	p.Unsupported("agents remember nothing between sessions", "memory")
	p.Unsupported("the model decides whether it waits for an agent", "background")
	p.Unsupported("an agent begins with the task that it gets", "initialPrompt")
	p.ignore("color", "version", "author", "category", "tags", "proactive")
	if a.Name == "" {
		a.Name = name
		p.Mistake(1, "the agent has no name, so it is called %s, after its file", shown(name))
	}
	switch {
	case len(a.Name) > maxName || !agentName().MatchString(a.Name):
		p.refuse(p.Line("name"),
			"the agent is not used, because its name %s has other characters than letters, digits, -, _, . and :, or "+
				"more than %d bytes", shown(a.Name), maxName)
	case a.Name == generalPurpose || a.Name == generalist:
		p.refuse(p.Line("name"), "the agent is not used, because there is always an agent %s", a.Name)
	case a.Description == "":
		p.refuse(1, "the agent is not used, because it has no description, by which the model chooses it")
	case a.Prompt == "":
		p.refuse(0, "the agent is not used, because there is no prompt below its front matter")
	case len(a.Prompt) > maxAgentPrompt:
		p.refuse(0, "the agent is not used, because its prompt has more than %d KiB", maxAgentPrompt>>10)
	}
	if p.refused {
		return nil, p.Mistakes()
	}
	if n := utf8.RuneCountInString(a.Description); n > maxDescription {
		p.Mistake(p.Line("description"), "the description has %d characters, of which the model reads %d", n,
			maxDescription)
		a.Description = cut(a.Description, maxDescription)
	}
	return a, p.Mistakes()
}

// patterns tells that patterns behind the names of tools, as in Bash(git:*), have no effect, and
// what the names alone mean.
func (p *Front) patterns(field string, tools []string, meaning string) {
	var found []string
	for _, tool := range tools {
		if _, pattern, ok := strings.Cut(tool, "("); ok && pattern != ")" && pattern != "*)" {
			found = append(found, shown(tool))
		}
	}
	if len(found) > 0 {
		p.Mistake(p.Line(field), "in %s, the pattern of %s has no effect: %s", field,
			strings.Join(found[:min(len(found), 10)], ", "), meaning)
	}
}

// count returns a field that is a positive number, or 0.
func (p *Front) count(name string) int {
	text := p.Text(name)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 100_000 {
		p.Mistake(p.Line(name), "%s has to be a number from 1 to 100000, not %s, so it has no effect", name,
			shown(text))
		return 0
	}
	return n
}
