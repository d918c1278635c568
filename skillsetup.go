package attractor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/load"
	"github.com/attractor-go/attractor/profile"
)

// openSkills reads the skills of the session, and adds the tool that loads them and their commands.
func (s *Setup) openSkills(c *config) {
	s.Skills = load.ReadSkills(s.Project, c.usersEnv)
	if s.far == nil { // the files of the user's skills are on this machine
		s.readable = append(s.readable, s.Skills.Outside(c.Dir)...)
	}
	s.warnAll("skills", s.Skills.Problems)
	s.unused.Add("skills", s.Skills.Untrusted, s.Skills.Why)
	o := &s.Options
	var shortened string
	if o.Profile, shortened = equip(s.Skills, o.Profile, s.listingBudget()); shortened != "" {
		s.warnings.add("skills", shortened)
	}
	for _, skill := range s.Skills.List {
		if skill.ForUser {
			s.commands = append(s.commands, Command{Name: skill.Name, Description: skill.Description, Hint: skill.Hint,
				Kind: SkillCommand, Origin: skill.Origin, File: skill.File,
				fill: func(ctx context.Context, arguments string) (llm.Parts, error) {
					return s.fillSkill(ctx, skill, arguments)
				}})
		}
	}
}

// WithExtensions returns a profile with what files bring into a session in a directory: the tool
// that loads skills, and the agents in the tools that start agents. It also returns what their user
// should know.
func WithExtensions(p profile.Profile, dir string, getenv func(string) string,
	trustProject bool) (profile.Profile, []error, error) {
	project, err := load.ReadProject(dir, getenv, trustProject)
	if err != nil {
		return p, nil, err
	}
	skills := load.ReadSkills(project, getenv)
	p, shortened := equip(skills, p, ext.DefaultListing)
	agents := load.ReadAgents(project, getenv)
	p.Tools = describeAgents(agents, p.Tools)
	problems := slices.Concat(skills.Problems, agents.Problems)
	if shortened != "" {
		problems = append(problems, errors.New(shortened))
	}
	var u load.Unused
	u.Add("skills", skills.Untrusted, skills.Why)
	u.Add("agents", agents.Untrusted, agents.Why)
	if text := u.Text(dir); text != "" {
		problems = append(problems, errors.New(text))
	}
	return p, problems, nil
}

// maxTold limits the problems of a kind that a session tells of.
const maxTold = 10

// warnAll tells of problems.
func (s *Setup) warnAll(code string, problems []error) {
	for _, problem := range problems[:min(len(problems), maxTold)] {
		s.warnings.add(code, problem.Error())
	}
	if n := len(problems) - maxTold; n > 0 {
		s.warnings.add(code, fmt.Sprintf("There are %d more problems of this kind. To see all, run: attractor prompt",
			n))
	}
}

// listingBudget returns how many bytes of the system prompt the list of skills may have: a fiftieth
// of a small window.
func (s *Setup) listingBudget() int {
	const share, bytesPerToken = 50, 4
	window := s.modelWindow()
	if window == 0 {
		return ext.DefaultListing
	}
	return min(ext.DefaultListing, window*bytesPerToken/share)
}

// keepInSummaries adds to BeforeCompact, which a program or hooks may have set, that summaries name
// the skills whose text they replace and repeat the plan.
func (s *Setup) keepInSummaries() {
	skills := s.Skills != nil && len(s.Skills.List) > 0
	if !skills && !s.plans {
		return
	}
	before := s.Options.BeforeCompact
	s.Options.BeforeCompact = func(ctx context.Context, about agent.Compacting) (keep string, err error) {
		if before != nil {
			keep, err = before(ctx, about)
		}
		if skills {
			keep += "\n\n" + keepSkills(s.Skills, &about)
		}
		return strings.TrimSpace(strings.TrimSpace(keep) + "\n\n" + keepPlan(&about)), err
	}
}

// keepSkills returns what the summary of turns has to say about skills, or "".
func keepSkills(s *load.Skills, about *agent.Compacting) string {
	var loaded []string
	for i := range about.Turns {
		for _, part := range about.Turns[i].Message.Parts {
			call, ok := part.(llm.ToolCall)
			if !ok || call.Name != ext.SkillToolName {
				continue
			}
			var args struct{ Name string }
			if json.Unmarshal([]byte(call.Args), &args) == nil && hasSkill(s, args.Name) &&
				!slices.Contains(loaded, args.Name) {
				loaded = append(loaded, args.Name)
			}
		}
	}
	if len(loaded) == 0 {
		return ""
	}
	return fmt.Sprintf("The text of these skills is replaced as well: %s. Name those that the rest of the work "+
		"needs, and say that each has to be loaded again with the tool %s.",
		strings.Join(loaded, ", "), ext.SkillToolName)
}

// hasSkill reports whether the model may use a skill of that name.
func hasSkill(s *load.Skills, name string) bool {
	return slices.ContainsFunc(s.List, func(s *ext.Skill) bool { return s.Name == name && s.ForModel })
}
