package attractor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/load"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
)

// equip returns a profile with the tool that loads skills, if there are any for the model.
// shortened says what of their list is missing.
func equip(s *load.Skills, p profile.Profile, budget int) (equipped profile.Profile, shortened string) {
	for _, skill := range s.List {
		for i, name := range skill.AllowedTools {
			skill.AllowedTools[i] = nameOfTool(name, p.Tools)
		}
	}
	if !slices.ContainsFunc(s.List, func(s *ext.Skill) bool { return s.ForModel }) {
		return p, ""
	}
	t, shortened := ext.SkillTool(s.List, budget)
	p.Tools = append(slices.Clip(p.Tools), t)
	return p, shortened
}

// nameOfTool returns "shell for Bash(git:*)" for a tool that Claude Code's files call Bash(git:*),
// or that name if no tool stands for it. Vendors whose agents have no tools to read and search use
// commands.
func nameOfTool(entry string, tools []tool.Tool) string {
	name, _, _ := strings.Cut(entry, "(")
	covered, shell := "", ""
	for i := range tools {
		switch own := tools[i].Name; {
		case own == name:
			return entry
		case own == "view_image": // reads only pictures
		case rules.ClaudeName(own) == name:
			return own + " for " + entry
		case covered == "" && rules.Covers(name, own):
			covered = own + " for " + entry
		case shell == "" && rules.ClaudeName(own) == "Bash":
			shell = own + " for " + entry
		}
	}
	if covered == "" && slices.Contains([]string{"Read", "Grep", "Glob", "LS"}, name) {
		covered = shell
	}
	return cmp.Or(covered, entry)
}
