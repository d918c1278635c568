package ext_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/ext"
)

// Definitions of agents as they are found in public repositories.
func TestM8_Agents(t *testing.T) {
	long := strings.Repeat("Use it. ", 200)
	for _, c := range []struct {
		name, data string
		want       *ext.Agent
		mistakes   []string
	}{
		{"complete", "---\nname: code-reviewer\ndescription: Expert reviewer. Use PROACTIVELY: after changes.\n" +
			"tools: Read, Grep, Glob, Bash\nmodel: sonnet\ncolor: red\npermissionMode: plan\nmaxTurns: 20\neffort: " +
			"high\ndisallowedTools: [Bash]\n---\n\nYou review code.\n\n1. Look.\n",
			&ext.Agent{Name: "code-reviewer", Description: "Expert reviewer. Use PROACTIVELY: after changes.",
				Tools: []string{"Read", "Grep", "Glob", "Bash"}, Without: []string{"Bash"}, Model: "sonnet",
				Effort:   "high",
				MaxTurns: 20, Plans: true, Prompt: "You review code.\n\n1. Look."}, nil},
		{"least", "---\nname: a\ndescription: |\n  One\n  two\n---\nx", &ext.Agent{Name: "a", Description: "One two",
			AllTools: true, Prompt: "x"}, nil},
		{"all tools", "---\nname: a\ndescription: b\ntools: '*'\n---\nx", &ext.Agent{Name: "a", Description: "b",
			AllTools: true, Prompt: "x"}, nil},
		{"no tools", "---\nname: a\ndescription: b\ntools: []\n---\nx", &ext.Agent{Name: "a", Description: "b",
			Prompt: "x"}, nil},
		{"no name", "---\ndescription: b\n---\nx", &ext.Agent{Name: "file", Description: "b", AllTools: true,
			Prompt: "x"}, []string{"a.md, line 1: the agent has no name, so it is called file, after its file"}},
		{"a worktree", "---\nname: a\ndescription: b\nisolation: worktree\n---\nx",
			&ext.Agent{Name: "a", Description: "b", AllTools: true, Worktree: true, Prompt: "x"}, nil},
		{"another isolation", "---\nname: a\ndescription: b\nisolation: remote\n---\nx",
			&ext.Agent{Name: "a", Description: "b", AllTools: true, Prompt: "x"},
			[]string{"a.md, line 4: isolation can only be worktree, not remote, so it has no effect"}},
		{"modes that widen", "---\nname: a\ndescription: b\npermissionMode: bypassPermissions\n---\nx",
			&ext.Agent{Name: "a", Description: "b", AllTools: true, Prompt: "x"},
			[]string{"a.md, line 4: permissionMode bypassPermissions has no effect: an agent may do what the session " +
				"may, or with plan only read"}},
		{"patterns", "---\nname: a\ndescription: b\ntools: Read, Bash(git:*), Edit(*), Agent(worker)\n" +
			"disallowedTools: Bash(rm:*)\n---\nx",
			&ext.Agent{Name: "a", Description: "b", Tools: []string{"Read", "Bash(git:*)", "Edit(*)", "Agent(worker)"},
				Without: []string{"Bash(rm:*)"}, Prompt: "x"}, []string{
				"a.md, line 4: in tools, the pattern of Bash(git:*), Agent(worker) has no effect: the agent gets the " +
					"whole tool, and permission rules decide about its calls",
				"a.md, line 5: in disallowedTools, the pattern of Bash(rm:*) has no effect: the agent does not get " +
					"the tool at all"}},
		{"what is not supported",
			"---\nname: a\ndescription: b\nskills: x\nmemory: user\nmaxTurns: many\nModel: opus\n---\nx",
			&ext.Agent{Name: "a", Description: "b", AllTools: true, Prompt: "x"}, []string{
				"a.md, line 4: skills has no effect: skills are there for all agents",
				"a.md, line 5: memory has no effect: agents remember nothing between sessions",
				"a.md, line 6: maxTurns has to be a number from 1 to 100000, not many, so it has no effect",
				"a.md, line 7: unknown fields have no effect: Model; the supported fields are name, description, " +
					"tools, disallowedTools, model, effort, maxTurns, permissionMode, isolation"}},
		{"long", "---\nname: a\ndescription: " + long + "\n---\nx",
			&ext.Agent{Name: "a", Description: long[:1021] + "...", AllTools: true, Prompt: "x"},
			[]string{"a.md, line 3: the description has 1599 characters, of which the model reads 1024"}},
		{"no description", "---\nname: a\n---\nx", nil,
			[]string{"a.md, line 1: the agent is not used, because it has no description, by which the model " +
				"chooses it"}},
		{"no prompt", "---\nname: a\ndescription: b\n---\n", nil,
			[]string{"a.md: the agent is not used, because there is no prompt below its front matter"}},
		{"bad name", "---\nname: a b\ndescription: b\n---\nx", nil,
			[]string{"a.md, line 2: the agent is not used, because its name a b has other characters than letters, " +
				"digits, -, _, . and :, or more than 64 bytes"}},
		{"taken", "---\nname: generalist\ndescription: b\n---\nx", nil,
			[]string{"a.md, line 2: the agent is not used, because there is always an agent generalist"}},
		{"large", "---\nname: a\ndescription: b\n---\n" + strings.Repeat("x", 128<<10+1), nil,
			[]string{"a.md: the agent is not used, because its prompt has more than 128 KiB"}},
		{"no description among many mistakes", "---\nname: a\n" + strings.Repeat("color: red\n", 40) + "---\nx", nil,
			append([]string{"a.md, line 1: the agent is not used, because it has no description, by which the model " +
				"chooses it"}, secondColors(20)...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, mistakes := ext.ParseAgent(ext.File{Name: "a.md", Data: []byte(c.data)}, "file")
			if c.want != nil {
				c.want.File = "a.md"
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			var texts []string
			for _, m := range mistakes {
				texts = append(texts, m.Error())
			}
			if diff := cmp.Diff(c.mistakes, texts); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// secondColors returns the first mistakes about a field that is there again and again from line 4
// on.
func secondColors(n int) (texts []string) {
	for i := range n {
		texts = append(texts, fmt.Sprintf("a.md, line %d: there is a second color, which is not used", 4+i))
	}
	return texts
}
