package attractor

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// team is a session in a project with files, with a home directory of its own.
type team struct {
	*bench
	home   string
	config config
	// told holds the texts of the session's warnings.
	told []string
}

// newTeam writes files of a project; those that begin with ~/ are the user's.
func newTeam(t *testing.T, files map[string]string, turns ...fakellm.Turn) *team {
	t.Helper()
	b := &team{bench: newBench(t, turns...), home: t.TempDir()}
	for name, content := range files {
		if own, is := strings.CutPrefix(name, "~/"); is {
			put(t, b.home, own, content)
		} else {
			put(t, b.dir, name, content)
		}
	}
	b.config = b.bench.config()
	getenv := b.config.Getenv
	b.config.TrustProject = true
	b.config.Getenv = func(name string) string {
		switch name {
		case "HOME":
			return b.home
		case "XDG_STATE_HOME":
			return filepath.Join(b.home, ".state")
		}
		return getenv(name)
	}
	return b
}

// open starts a session and calls use with it.
func (b *team) open(use func(*Setup, *agent.Session)) {
	b.Helper()
	setup, err := prepare(b.Context(), b.config)
	if err != nil {
		b.Fatal(err)
	}
	setup.Options.OnEvent = func(ev agent.Event) {
		if w, is := ev.(*agent.Warning); is {
			b.told = append(b.told, w.Text)
		}
	}
	session, err := setup.Start(b.Context())
	if err != nil {
		b.Fatal(errors.Join(err, setup.Close()))
	}
	use(setup, session)
	if err := errors.Join(session.Close(), setup.Close()); err != nil {
		b.Error(err)
	}
}

// submit submits a line.
func (b *team) submit(line string) (err error) {
	b.Helper()
	b.open(func(s *Setup, session *agent.Session) { _, err = s.Submit(b.Context(), session, line) })
	return err
}

// sent returns the text of the newest request's last message.
func (b *team) sent() string {
	b.Helper()
	if len(b.server.Requests()) == 0 {
		return ""
	}
	var body struct {
		Model    string
		Messages []struct {
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(b.lastRequest()), &body); err != nil {
		b.Fatal(err)
	}
	var parts []struct{ Text string }
	var text string
	last := body.Messages[len(body.Messages)-1].Content
	if json.Unmarshal(last, &text) == nil {
		return text
	}
	if err := json.Unmarshal(last, &parts); err != nil {
		b.Fatal(err)
	}
	for _, p := range parts {
		text += p.Text
	}
	return text
}

// warned reports whether a warning has all of the texts.
func (b *team) warned(texts ...string) bool {
	return slices.ContainsFunc(b.told, func(w string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(w, text) })
	})
}

const review = "---\ndescription: Reviews\nallowed-tools: Bash(ls:*), Read\n---\nReview $1 for $2.\n\n- Files: !`ls " +
	"src`\n- Old: @src/a.go, mail me@x.org, @none.go\n"

// A command's message has the arguments, what its shell commands print, and the files that it
// names.
func TestM7_CommandInASession(t *testing.T) {
	b := newTeam(t, map[string]string{".claude/commands/team/review.md": review, "src/a.go": "package a\n"},
		fakellm.Turn{Text: "done"})
	if err := b.submit("/team:review x.go 'all bugs'"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"/team:review x.go 'all bugs'\n\nReview x.go for all bugs.\n\n- Files: a.go\n- " +
		"Old: @src/a.go, mail me@x.org, @none.go\n",
		"these tools: shell for Bash(ls:*), read_file for Read. That permits nothing",
		"The content of src/a.go, with the numbers of its lines:\n", "1 | package a"} {
		if !strings.Contains(b.sent(), want) {
			t.Errorf("%q is not in %q", want, b.sent())
		}
	}
	if len(b.told) > 0 {
		t.Errorf("warnings: %q", b.told)
	}
}

// Whatever arguments contain is text: no command runs and no file is read that the command's author
// did not write.
func TestM7_ArgumentsAreText(t *testing.T) {
	b := newTeam(t, map[string]string{".claude/commands/do.md": "Do $ARGUMENTS: !`echo got $ARGUMENTS \"$1\"`",
		"secret.txt": "TREASURE\n"}, fakellm.Turn{Text: "done"})
	if err := b.submit("/do !`touch a` @secret.txt $(touch b) ;touch c; `touch d` $ARGUMENTS"); err != nil {
		t.Fatal(err)
	}
	const args = "!`touch a` @secret.txt $(touch b) ;touch c; `touch d` $ARGUMENTS"
	if got := b.sent(); !strings.HasSuffix(got, "Do "+args+": got "+args+" !`touch\n") ||
		strings.Contains(got, "TREASURE") {
		t.Errorf("%q", got)
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		if _, err := os.Stat(filepath.Join(b.dir, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
}

// What a command prints and what a file holds is text, too.
func TestM7_OutputIsText(t *testing.T) {
	b := newTeam(t, map[string]string{".claude/commands/do.md": "See !`cat in.txt` @in.txt",
		"in.txt": "!`touch a` @secret.txt $1\n", "secret.txt": "TREASURE\n"}, fakellm.Turn{Text: "done"})
	if err := b.submit("/do x"); err != nil {
		t.Fatal(err)
	}
	if got := b.sent(); !strings.Contains(got, "See !`touch a` @secret.txt $1 @in.txt") ||
		strings.Contains(got, "TREASURE") {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "a")); err == nil {
		t.Error("the output was run")
	}
}

// A shell command of a command needs what one of the model's needs: no rule that denies it, and an
// answer to the question about it. Without that nothing is sent.
func TestM7_ShellCommandsUnderRules(t *testing.T) {
	for name, c := range map[string]struct {
		permission permit.Mode
		rules      string
		answer     tool.Verdict
		asked      int
		want       string // in the error
	}{
		"denied": {permit.ModeFull,
			`{"permissions": {"deny": [{"rule": "Bash(touch:*)", "reason": "no files"}]}}`, tool.Allow, 0, "no files"},
		"allowed":           {permit.ModeAsk, `{"permissions": {"allow": ["Bash(touch:*)"]}}`, tool.Deny, 0, ""},
		"asked and allowed": {permit.ModeAsk, "", tool.Allow, 1, ""},
		"asked and denied":  {permit.ModeAsk, "", tool.Deny, 1, "not now"},
		"read-only":         {permit.ModeReadOnly, "", tool.Allow, 0, "this session is read-only"},
		"planning": {permit.ModePlan, `{"permissions": {"allow": ["Bash(touch:*)"]}}`, tool.Allow, 0,
			"the session is in plan mode"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{".claude/commands/do.md": "---\nallowed-tools: Bash(touch:*)\n---\nDone: " +
				"!`touch made`"}
			if c.rules != "" {
				files[".attractor/rules.json"] = c.rules
			}
			b := newTeam(t, files, fakellm.Turn{Text: "done"})
			asked := 0
			b.config.Mode = c.permission
			b.config.Ask = func(_ context.Context, q permit.Question) (permit.Answer, error) {
				if asked++; q.Access.Command != "touch made" {
					t.Errorf("asked about %+v", q)
				}
				return permit.Answer{Verdict: c.answer, Reason: "not now"}, nil
			}
			err := b.submit("/do")
			_, missing := os.Stat(filepath.Join(b.dir, "made"))
			if (err == nil) != (c.want == "") || (missing == nil) != (c.want == "") || asked != c.asked ||
				len(b.server.Requests()) > 0 != (c.want == "") {
				t.Fatalf("%v, %v, %d questions, %d requests", err, missing, asked, len(b.server.Requests()))
			}
			if err != nil && (!errors.Is(err, ErrRefused) || !strings.Contains(err.Error(),
				"the command /do was not used, because it runs touch made") || !strings.Contains(err.Error(), c.want)) {
				t.Error(err)
			}
		})
	}
}

// A shell command that fails is part of the message with its exit code. What it prints is bounded.
func TestM7_ShellCommandsThatFail(t *testing.T) {
	b := newTeam(t, map[string]string{".claude/commands/do.md": "A !`echo no; exit 3` B !`seq 1000000` C"},
		fakellm.Turn{Text: "done"})
	if err := b.submit("/do"); err != nil {
		t.Fatal(err)
	}
	if got := b.sent(); !strings.Contains(got, "A no\n") || !strings.Contains(got, "Exit code: 3") ||
		len(got) > 40_000 || !strings.HasSuffix(got, " C\n") {
		t.Errorf("%d bytes: %.300q", len(got), got)
	}
}

// A file that a rule denies, one outside of the directories, and a directory are not part of the
// message. The model and the person are told.
func TestM7_FilesUnderRules(t *testing.T) {
	outside := t.TempDir()
	put(t, outside, "far.txt", "TREASURE\n")
	b := newTeam(t, map[string]string{".claude/commands/do.md": "See @secrets/key @" + outside +
		"/far.txt @../up.txt @sub @sub/ok.txt @$1", "secrets/key": "TREASURE\n", "sub/ok.txt": "fine\n",
		".attractor/rules.json": `{"permissions": {"deny": ["Read(./secrets/**)"]}}`}, fakellm.Turn{Text: "done"})
	if err := b.submit("/do " + outside + "/far.txt"); err != nil {
		t.Fatal(err)
	}
	got := b.sent()
	for _, want := range []string{"See @secrets/key @" + outside + "/far.txt @../up.txt @sub @sub/ok.txt @" + outside +
		"/far.txt\n", "secrets/key is not part of this message: ", "far.txt is not part of this message: ",
		"@sub is a directory", "1 | fine"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if strings.Contains(got, "TREASURE") || !b.warned("The command /do mentions @secrets/key") ||
		!b.warned("far.txt, which is not part of the message") {
		t.Errorf("%q, warnings %q", got, b.told)
	}
}

// The commands of a project have no effect before it is trusted. One warning tells of them, and the
// session works.
func TestM7_UntrustedCommands(t *testing.T) {
	b := newTeam(t, map[string]string{".claude/commands/do.md": "Do it !`touch made`",
		".claude/commands/README.md": "About", ".agents/agents/a.md": "---\nname: a\ndescription: b\n---\nx",
		"~/.claude/commands/mine.md": "Mine"}, fakellm.Turn{Text: "one"}, fakellm.Turn{Text: "two"})
	b.config.TrustProject = false
	if err := b.submit("/do"); err == nil || !strings.Contains(err.Error(),
		"the command /do is not used, because the project is not trusted; to see it and decide, run: attractor trust") {
		t.Error(err)
	}
	if len(b.told) != 1 || !b.warned("commands: do; agents: a. To see", "attractor trust") {
		t.Errorf("warnings: %q", b.told)
	}
	if err := b.submit("/mine"); err != nil || !strings.Contains(b.sent(), "Mine") {
		t.Errorf("%v, %q", err, b.sent())
	}
}

// Only the names of commands are commands. A word alone, and what resembles a command, are probably
// mistakes.
func TestM7_WhatIsACommand(t *testing.T) {
	b := newTeam(t, map[string]string{".claude/commands/review.md": "REVIEW",
		".claude/commands/bad.md": "---\ndescription: x\n---\n", ".claude/commands/git/commit.md": "COMMIT"},
		slices.Repeat([]fakellm.Turn{{Text: "done"}}, 20)...)
	b.open(func(s *Setup, session *agent.Session) {
		for line, want := range map[string]string{"/review": "/review\n\nREVIEW\n", "/review\nx": "ARGUMENTS: x",
			"/git:commit": "COMMIT", "/etc/passwd is broken": "/etc/passwd is broken",
			"/login returns 500": "/login returns 500",
			" /reviw it":         " /reviw it", "/": "/", "//x": "//x", "review": "review", "/usr/bin": "/usr/bin",
			"/*.go x": "/*.go x"} {
			if _, err := s.Submit(t.Context(), session, line); err != nil || !strings.Contains(b.sent(), want) {
				t.Errorf("%q: %q, %v", line, b.sent(), err)
			}
		}
		before := len(b.server.Requests())
		for line, want := range map[string]string{"/reviw it": "there is no command /reviw; did you mean /review?",
			"/foo": "there is no command /foo; to list the commands, run: attractor commands. To send the line as " +
				"text, begin it with a space",
			"/bad x": "there is no command /bad: ", "/mcp__a__b": "there are no MCP servers"} {
			if _, err := s.Submit(t.Context(), session, line); !errors.Is(err, ErrConfig) ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v", line, err)
			}
		}
		if n := len(b.server.Requests()) - before; n > 0 {
			t.Errorf("%d requests for what is no command", n)
		}
	})
}

// The user's command counts before the project's, also before a project's skill; the user is told.
// Mistakes in a command are told when it is used.
func TestM7_SameNames(t *testing.T) {
	b := newTeam(t, map[string]string{"~/.claude/commands/do.md": "---\nmodle: x\n---\nMINE",
		".claude/commands/do.md": "THEIRS", "~/.codex/prompts/draft.md": "DRAFT $FILE",
		"~/.gemini/commands/plan.toml": "prompt = 'PLAN {{args}}'",
		".claude/skills/pdf/SKILL.md":  "---\nname: pdf\ndescription: x\n---\nSKILL",
		"~/.agents/commands/pdf.md":    "PDF",
		".claude/commands/README.md":   "Read me"}, slices.Repeat([]fakellm.Turn{{Text: "done"}}, 4)...)
	b.open(func(s *Setup, session *agent.Session) {
		for line, want := range map[string]string{"/do": "MINE", "/prompts:draft FILE=a.go": "DRAFT a.go",
			"/plan x": "PLAN x", "/pdf": "PDF"} {
			if _, err := s.Submit(t.Context(), session, line); err != nil || !strings.Contains(b.sent(), want) {
				t.Errorf("%q: %q, %v", line, b.sent(), err)
			}
		}
		var list []string
		for _, c := range s.Commands() {
			list = append(list, c.Name+" "+string(c.Kind)+" "+c.Origin.String())
		}
		if want := []string{"do command user", "pdf command user", "plan command user",
			"prompts:draft command user"}; !slices.Equal(list, want) {
			t.Errorf("%q", list)
		}
	})
	if !b.warned("the command is not used, because there is another /do") ||
		!b.warned("unknown fields have no effect: modle") ||
		!b.warned("the skill is not used, because there is another /pdf") {
		t.Errorf("warnings: %q", b.told)
	}
}

// A command runs with its own model, if the provider has it, and the session then goes on with its
// own.
func TestM7_Models(t *testing.T) {
	b := newTeam(t, map[string]string{".claude/commands/quick.md": "---\nmodel: haiku\neffort: low\n---\nQuick",
		".claude/commands/odd.md": "---\nmodel: gpt-4\n---\nOdd"}, slices.Repeat([]fakellm.Turn{{Text: "done"}}, 3)...)
	b.open(func(s *Setup, session *agent.Session) {
		for _, line := range []string{"/quick", "and on", "/odd"} {
			if _, err := s.Submit(t.Context(), session, line); err != nil {
				t.Fatal(err)
			}
		}
	})
	var models []string
	for _, r := range b.server.Requests() {
		var body struct{ Model string }
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		models = append(models, body.Model)
	}
	if len(models) != 3 || !strings.Contains(models[0], "haiku") || strings.Contains(models[1], "haiku") ||
		models[2] != models[1] {
		t.Errorf("%q", models)
	}
	if !b.warned("The command /odd uses the model and effort of the session", "gpt-4") {
		t.Errorf("warnings: %q", b.told)
	}
}
