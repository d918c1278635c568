//go:build unix

package attractor

import (
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// directorySession is a session in a copy of testdata/team, the directory of a team that comes from
// Claude Code.
type directorySession struct {
	*watched
	first     *fakellm.Request // of the session
	agentWith *fakellm.Request // the first one of the agent that the session has started, or nil
	refused   map[string]error // by line: why it was not sent
	setup     *Setup           // closed
	result    *agent.Result
}

// inDirectory submits lines in the team's directory. The model takes the turns of the dialect. All
// lines but the last are refused.
func inDirectory(t *testing.T, d dialect, trusted bool, lines []string, turns ...fakellm.Turn) *directorySession {
	t.Helper()
	s := &directorySession{watched: newWatched(t), refused: map[string]error{}}
	if err := os.CopyFS(s.dir, os.DirFS("testdata/team")); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	s.server = fakellm.New(func(r *fakellm.Request) fakellm.Turn {
		mu.Lock()
		defer mu.Unlock()
		if slices.ContainsFunc(r.Messages, func(m llm.Message) bool { return m.Parts.Text() == "THE TASK" }) {
			s.agentWith = r
			return fakellm.Turn{Text: "THE REPORT"}
		}
		if s.first == nil {
			s.first = r
		}
		return turns[min(r.Turn(), len(turns)-1)]
	}, fakellm.Options{})
	web := httptest.NewServer(s.server)
	t.Cleanup(web.Close)
	s.url = web.URL
	c := s.dialect(d)
	c.TrustProject = trusted
	setup, err := prepare(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	s.setup = setup
	s.see(&setup.Options)
	session, err := setup.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if s.result, err = setup.Submit(t.Context(), session, line); err != nil {
			s.refused[line] = err
		}
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if err := setup.Close(); err != nil {
		t.Error(err)
	}
	return s
}

// contains checks that a text has parts.
func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}

// A directory that a team has written for Claude Code works in all profiles and both dialects, once
// it is trusted: instructions, skills, commands, agents and hooks. What they do is the same. Only
// the tools have other names.
func TestM6_M10_ATeamsDirectory(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile("testdata/team.hooks")
	if err != nil {
		t.Fatal(err)
	}
	ofAgent := map[string]string{"anthropic": "glob grep read_file read_output",
		"anthropic native": "Read glob grep read_output", "openai": "glob grep read_file read_output",
		"openai native": "glob grep read_file read_output view_image",
		"gemini":        "glob grep read_file read_many_files read_output",
		"gemini native": "glob grep_search read_file read_output"}
	allowed := map[string]string{"anthropic": "shell for Bash(git diff:*), read_file for Read, grep for Grep",
		"anthropic native": "Bash(git diff:*), Read, Bash for Grep",
		"openai":           "shell for Bash(git diff:*), read_file for Read, grep for Grep",
		"openai native":    "exec_command for Bash(git diff:*), exec_command for Read, exec_command for Grep",
		"gemini":           "shell for Bash(git diff:*), read_file for Read, grep for Grep",
		"gemini native":    "run_shell_command for Bash(git diff:*), read_file for Read, grep_search for Grep"}
	for _, d := range dialects() {
		name := d.profile + map[bool]string{true: " native"}[d.native]
		t.Run(name, func(t *testing.T) {
			turns := slices.Concat([]fakellm.Turn{calls(t, "skill", object{"name": "release"}),
				d.shell(t, "rm -rf src"), d.write(t, "docs/new.md", "fine"), d.write(t, ".env", "KEY=1")},
				spawnTurns(t, "reviewer", d.profile, d.native), []fakellm.Turn{{Text: "done"}, {Text: "really done"}})
			s := inDirectory(t, d, true, []string{"/review src/price.py 'float errors'"}, turns...)
			if s.result.Text != "really done" || len(s.refused) > 0 {
				t.Fatalf("%+v, %v", s.result, s.refused)
			}
			contains(t, "the prompt", s.first.System, "  - `release`: Makes a release of the shop.",
				"  - `sql-migrations`: Writes migrations")
			for _, once := range []string{"Amounts are whole cents", "Write short sentences"} {
				if strings.Count(s.first.System, once) != 1 {
					t.Errorf("%q is not once in the prompt:\n%s", once, s.first.System)
				}
			}
			var sent string
			for _, m := range s.first.Messages {
				sent += m.Parts.Text() + "\n"
			}
			contains(t, "the message", sent,
				"/review src/price.py 'float errors'\n\nReview src/price.py and look for float errors.\n\nThe files "+
					"of the shop: price.py", allowed[name]+". That permits nothing",
				"The branch is frozen until Monday.", "Nobody is on call.")
			contains(t, "the definition of tools", string(s.first.Body), "migrator: Moves code",
				"reviewer: Reviews a change for mistakes.")
			results := strings.Join(s.outputs(), "\n")
			contains(t, "the results", results, "# Release", "Its files: checklist.md, scripts/notes.sh",
				"Directories are removed by hand.", "The linter has nothing to say.", "Nobody changes .env.",
				"THE REPORT")
			contains(t, "the last request", s.lastRequest(), "Run sh check.sh before you stop.",
				"Pages have one heading.")
			if s.agentWith == nil {
				t.Fatal("no agent was started")
			}
			tools := slices.Sorted(slices.Values(s.agentWith.Tools))
			if got := strings.Join(tools, " "); got != ofAgent[name] {
				t.Errorf("the agent has %s", got)
			}
			contains(t, "the agent's prompt", s.agentWith.System, "You look for mistakes in a change.",
				"Amounts are whole cents")
			if s.read("src/price.py") == "-" || s.read("docs/new.md") != "fine\n" || s.read(".env") != "-" {
				t.Errorf("docs/new.md %q, .env %q", s.read("docs/new.md"), s.read(".env"))
			}
			var warnings []string
			if d.profile != "anthropic" {
				warnings = []string{fmt.Sprintf(
					"agents: These agents use the model and effort of the session, because %s is not known to have "+
						"those that they name: reviewer (haiku)", d.profile)}
			}
			if diff := cmp.Diff(warnings, s.warned()); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			got := strings.Join(plain(t, s.read("hooks.log"), s.dir), "\n") + "\n"
			if diff := cmp.Diff(string(golden), strings.Replace(got, allowed[name], "TOOLS", 1)); diff != "" {
				t.Errorf("hooks got (-want +got):\n%s", diff)
			}
		})
	}
}

// Of the same directory without trust only the instructions count. The rest is told in one warning,
// and when somebody uses a command.
func TestM6_M10_ATeamsDirectoryUntrusted(t *testing.T) {
	for _, d := range dialects() {
		t.Run(fmt.Sprintf("%s native %v", d.profile, d.native), func(t *testing.T) {
			s := inDirectory(t, d, false, []string{"/review src/price.py bugs", "/git:commit 1 x", "go"},
				d.shell(t, "echo rm -rf src"), d.write(t, "docs/new.md", "fine"), fakellm.Turn{Text: "done"})
			if s.result == nil || s.result.Text != "done" || len(s.refused) != 2 || len(s.server.Requests()) != 3 {
				t.Fatalf("%+v, %v", s.result, s.refused)
			}
			for _, err := range s.refused {
				contains(t, "the error", err.Error(), "is not used, because the project is not trusted",
					"attractor trust")
			}
			contains(t, "the prompt", s.first.System, "Amounts are whole cents", "Write short sentences")
			contains(t, "the last request", s.lastRequest(), "Pages have one heading.")
			for _, text := range []string{"Pages have", "sql-migrations", "migrator", "branch is frozen", "on call"} {
				if strings.Contains(string(s.first.Body), text) {
					t.Errorf("%q is in the first request", text)
				}
			}
			if slices.Contains(s.first.Tools, "skill") {
				t.Error("there is a tool for skills")
			}
			if got := strings.Join(s.outputs(), "\n"); strings.Contains(got, "by hand") ||
				strings.Contains(got, "linter") || s.read("docs/new.md") != "fine\n" || s.read("hooks.log") != "-" {
				t.Errorf("the results are %s, hooks got %s", got, s.read("hooks.log"))
			}
			const want = "untrusted: These parts of the project are not used, because the project is not trusted: " +
				"skills: release, sql-migrations; commands: explain, git:commit, review; agents: migrator, reviewer; " +
				"hooks: PostToolUse, PreToolUse, SessionStart, Stop, UserPromptSubmit; rules: Bash(sh check.sh). To " +
				"see the files and decide, run: attractor trust "
			if got := s.warned(); len(got) != 1 || got[0] != want+shquote.Shown(s.dir) {
				t.Errorf("warnings: %q", got)
			}
		})
	}
}
