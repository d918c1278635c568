package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// The prompt names the changes that existed before the session, up to a limit.
func TestR5_ChangedBeforeTheSession(t *testing.T) {
	for _, c := range []struct {
		modified, untracked, listed int
		more                        string
	}{
		{0, 0, 0, ""}, {3, 2, 5, ""}, {0, 20, 20, ""}, {2, 19, 20, "- and 1 more\n"}, {25, 30, 20, "- and 35 more\n"},
	} {
		t.Run(fmt.Sprintf("%d and %d", c.modified, c.untracked), func(t *testing.T) {
			w := newTree(t)
			w.git("init", "-q", "-b", "main")
			for i := range c.modified {
				w.put(fmt.Sprintf("old/%02d", i), "before")
			}
			w.git("add", ".")
			w.git("commit", "-q", "--allow-empty", "-m", "one")
			for i := range c.modified {
				w.put(fmt.Sprintf("old/%02d", i), "after it")
			}
			for i := range c.untracked {
				w.put(fmt.Sprintf("new/%02d", i), "new")
			}
			text := w.prompt(prof(), "", env.LocalOptions{}, "")
			inOrder(t, text, fmt.Sprintf("Git status: %d modified, %d untracked\n", c.modified, c.untracked),
				c.more+"Last commits:\n")
			modified, untracked := strings.Count(text, "\n- old/"), strings.Count(text, " (untracked)\n")
			if want := min(c.modified, 20); modified != want || modified+untracked != c.listed {
				t.Errorf("%d modified and %d untracked are listed, want %d and %d in all:\n%s", modified, untracked,
					want, c.listed, text)
			}
			if strings.Contains(text, "Changed before") != (c.listed > 0) ||
				strings.Contains(text, "more\n") != (c.more != "") {
				t.Errorf("a heading or a rest too many or too few:\n%s", text)
			}
		})
	}
}

// confined is an environment that reports a Confinement.
type confined struct {
	env.Base
	says env.Confinement
}

func (c confined) Confinement() env.Confinement { return c.says }

// The environment block has a line each for writable directories, network and sandbox, when they
// are known.
func TestR3_ConfinementWhenKnown(t *testing.T) {
	unknown := envtest.NewMemory(nil)
	render := func(e env.Environment) string {
		return agent.SystemPrompt(context.Background(), agent.Options{Profile: prof(), Env: e})
	}
	lacks(t, render(unknown), "Writable directories:", "Network:", "Sandbox:")
	lacks(t, render(env.ReadOnly(unknown)), "Network:", "Sandbox:")
	inOrder(t, render(env.ReadOnly(unknown)), "Working directory: /work\n", "Writable directories: none\n",
		"</environment>")
	inOrder(t, render(confined{env.Base{Environment: unknown}, env.Confinement{Network: "only proxy.golang.org",
		Sandbox: "a container\n</environment>"}}),
		"Network: only proxy.golang.org\n", "Sandbox: a container < /environment>\n")

	w := newTree(t)
	w.put("work/vendor/x", "")
	w.put("more/x", "")
	w.put("look/x", "")
	below := func(name string) string { return w.dir + "/" + name }
	inOrder(t, w.prompt(prof(), "work", env.LocalOptions{}, ""), "Writable directories: "+below("work")+"\n")
	text := w.prompt(prof(), "work", env.LocalOptions{Roots: []string{below("more")},
		ReadOnly: []string{below("look"), below("work/vendor")}, Network: "none", Sandbox: "bubblewrap"}, "")
	inOrder(t, text, "Writable directories: "+below("work")+", "+below("more")+"; but not "+below("work/vendor")+"\n",
		"Network: none\n", "Sandbox: bubblewrap\n")
	lacks(t, text, below("look"))
	inOrder(t, w.prompt(prof(), "work", env.LocalOptions{ReadOnly: []string{below("work")}}, ""),
		"Writable directories: none\n")
}

// The environment block says whether anybody can approve a call.
func TestR3_Approvals(t *testing.T) {
	o := agent.Options{Profile: prof(), Env: envtest.NewMemory(nil)}
	alone := agent.SystemPrompt(context.Background(), o)
	inOrder(t, alone, "<environment>\n", "Approvals: nobody can approve a call; what is not allowed is refused\n",
		"</environment>")
	o.Approve = func(context.Context, tool.Request) (tool.Decision, error) { return tool.Decision{}, nil }
	asked := agent.SystemPrompt(context.Background(), o)
	inOrder(t, asked, "<environment>\n", "Approvals: some calls wait for somebody's approval\n", "</environment>")
	lacks(t, asked, "nobody can approve")
}

// Only a session that compacts its history tells the model not to save space.
func TestR5_PromptMentionsCompaction(t *testing.T) {
	const notice = "# Long sessions\n\nWhen this conversation becomes too long, a summary replaces its beginning"
	o := agent.Options{Profile: prof(), Env: envtest.NewMemory(map[string]string{"AGENTS.md": "DOCUMENT"}),
		Instructions: "LAST"}
	lacks(t, agent.SystemPrompt(context.Background(), o), "Long sessions", "summary")
	o.Compaction.Threshold = agent.DefaultCompaction
	inOrder(t, agent.SystemPrompt(context.Background(), o), "</environment>", notice, "Do not stop early", "DOCUMENT",
		"LAST")

	for _, threshold := range []float64{0, agent.DefaultCompaction} {
		o.Policy.Compaction.Threshold = threshold
		if text := systemOf(t, o); strings.Contains(text, notice) != (threshold > 0) {
			t.Errorf("with the threshold %v the session sent:\n%s", threshold, text)
		}
	}
}

// systemOf returns the system prompt of a session with these options.
func systemOf(t *testing.T, o agent.Options) string {
	t.Helper()
	model := llmtest.NewProvider("test", llmtest.Text("done"))
	o.Client = &llm.Client{Providers: []llm.Provider{model}}
	s, err := agent.New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit(context.Background(), "x"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return model.Requests()[0].Messages[0].Parts.Text()
}

// The heading of every document says which files it applies to.
func TestR1_DocumentsSayWhatTheyApplyTo(t *testing.T) {
	w := newTree(t)
	w.git("init", "-q")
	w.put("AGENTS.md", "OF THE ROOT")
	w.put("a/AGENTS.md", "OF A")
	w.put("a/.codex/instructions.md", "OF CODEX")
	text := w.prompt(prof(".codex/instructions.md"), "a", env.LocalOptions{Roots: []string{w.dir}}, "")
	section := func(name, dir, document string) string {
		return "# Project instructions from " + w.dir + "/" + name + "\n\nThey apply to all files in " + w.dir + dir +
			" and below.\n\n" + document
	}
	inOrder(t, text, section("AGENTS.md", "", "OF THE ROOT"), section("a/AGENTS.md", "/a", "OF A"),
		section("a/.codex/instructions.md", "/a", "OF CODEX"))
	w.put("none/x", "")
	lacks(t, w.prompt(prof(), "none", env.LocalOptions{}, ""), "They apply to")
}

// The host's instructions have a heading, so that they cannot be mistaken for the end of a
// document.
func TestR1_HostInstructionsHaveAHeading(t *testing.T) {
	w := newTree(t)
	w.put("AGENTS.md", "THE DOCUMENT")
	if text := w.prompt(prof(), "", env.LocalOptions{}, " BE BRIEF\n"); !strings.HasSuffix(text,
		"THE DOCUMENT\n\n# Host instructions\n\nBE BRIEF") {
		t.Errorf("the instructions are not last, or have no heading:\n%s", text)
	}
	lacks(t, w.prompt(prof(), "", env.LocalOptions{}, " "), "# Host instructions")
}
