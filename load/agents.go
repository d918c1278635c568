package load

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/internal/userfiles"
)

// AgentFiles holds the definitions of agents that can be used in a directory.
type AgentFiles struct {
	// List holds the user's agents and the project's, in the order of their names. Of several with
	// one name it holds the first: the user's.
	List []*ext.Agent
	// Untrusted names the project's agents that must not be used. Why is the reason.
	Untrusted []string
	Why       string
	// Problems says what is wrong with agents, and what in them has no effect.
	Problems []error
}

// maxAgents limits the agents of a session. The description of each is in every request.
const maxAgents = 100

// ReadAgents reads the user's agents, and those of a project if its user trusts it.
func ReadAgents(project *Project, getenv func(string) string) *AgentFiles {
	a := &AgentFiles{}
	places := []string{".attractor/agents", ".agents/agents", ".claude/agents"}
	for _, dir := range userfiles.Dirs(places, getenv) {
		for _, f := range userFiles(dir, func(err error) { a.Problems = append(a.Problems, err) }) {
			a.add(f)
		}
	}
	for _, f := range project.extFiles(places, getenv) {
		if !isAgentFile(f.below) {
			continue
		}
		if !project.Trusted {
			a.Untrusted, a.Why = append(a.Untrusted, strings.TrimSuffix(path.Base(f.below), ".md")), project.Because()
			continue
		}
		a.add(f)
	}
	slices.SortFunc(a.List, func(x, y *ext.Agent) int { return strings.Compare(x.Name, y.Name) })
	if n := len(a.List); n > maxAgents {
		a.Problems = append(a.Problems, fmt.Errorf("there are %d agents, of which the first %d are used", n, maxAgents))
		a.List = a.List[:maxAgents]
	}
	return a
}

// isAgentFile reports whether a file in a directory of agents has one.
func isAgentFile(name string) bool {
	return path.Ext(name) == ".md" && !strings.EqualFold(path.Base(name), "README.md")
}

// add adds the agent of a file, unless there is one of its name.
func (a *AgentFiles) add(f extFile) {
	if !isAgentFile(f.below) {
		return
	}
	agent, mistakes := ext.ParseAgent(f.File, strings.TrimSuffix(path.Base(f.below), ".md"))
	if agent == nil {
		a.Problems = append(a.Problems, errorsOf(mistakes)...)
		return
	}
	for _, other := range a.List {
		if other.Name == agent.Name {
			a.Problems = append(a.Problems,
				ext.Mistake{File: f.Name,
					Text: fmt.Sprintf("the agent is not used, because there is another agent %s: %s", agent.Name,
						texts.Shown(other.File))})
			return
		}
	}
	a.List = append(a.List, agent)
	a.Problems = append(a.Problems, errorsOf(mistakes)...)
}
