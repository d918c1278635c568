package attractor

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/profile/profiles"
)

// skillful is a bench with a home directory, for sessions with skills.
type skillful struct {
	*bench
	home   string
	events []agent.Event
}

func newSkillful(t *testing.T, turns ...fakellm.Turn) *skillful {
	t.Helper()
	s := &skillful{bench: newBench(t, turns...)}
	var errs [2]error
	s.dir, errs[0] = filepath.EvalSymlinks(s.dir)
	s.home, errs[1] = filepath.EvalSymlinks(t.TempDir())
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return s
}

// config returns a configuration for a profile and a dialect. Questions fail the test.
func (s *skillful) config(family string, native bool) config {
	c := s.asking(func(_ context.Context, q permit.Question) (permit.Answer, error) {
		s.Errorf("it is asked about %s %s", q.Call.Name, q.Call.Args)
		return permit.Answer{}, errors.New("nobody is there")
	})
	c.Profile, c.chosen.native, c.chosen.provider = family, &native, ptr(family)
	c.Getenv = variables("ANTHROPIC_API_KEY", "k", "ANTHROPIC_BASE_URL", s.url, "OPENAI_API_KEY", "k",
		"OPENAI_BASE_URL", s.url+"/v1", "GEMINI_API_KEY", "k", "GEMINI_BASE_URL", s.url, "HOME", s.home)
	return c
}

// listen collects the events of a session.
func (s *skillful) listen(o *agent.Options) {
	o.OnEvent = func(ev agent.Event) { s.events = append(s.events, ev) }
}

// warnings returns the texts of the warnings of a code.
func (s *skillful) warnings(code string) (texts []string) {
	for _, ev := range s.events {
		if w, ok := ev.(*agent.Warning); ok && w.Code == code {
			texts = append(texts, strings.NewReplacer(s.home, "HOME", s.dir, "DIR").Replace(w.Text))
		}
	}
	return texts
}

const reviewSkill = "---\nname: review\ndescription: Reviews a change: style, tests\nallowed-tools: Bash(git diff:*) " +
	"Write mcp__x__y\n---\nRead reference.md first.\n"

// readers holds the tools by which each dialect reads a file, with the file's name in their
// arguments as %s.
func readers() map[string][2]string {
	return map[string][2]string{
		"anthropic": {"read_file", `{"file_path":"%s"}`}, "anthropic native": {"Read", `{"file_path":"%s"}`},
		"openai": {"read_file", `{"file_path":"%s"}`}, "openai native": {"exec_command", `{"cmd":"cat %s"}`},
		"gemini": {"read_file", `{"file_path":"%s"}`}, "gemini native": {"read_file", `{"file_path":"%s"}`},
	}
}

// The model loads skills of the user and of a trusted project and reads their files, in each
// profile and dialect, without a question. The beginning of its requests stays as it was.
func TestM6_SkillsInAllProfiles(t *testing.T) {
	expected := map[string]string{"anthropic": "shell for Bash(git diff:*), write_file for Write, mcp__x__y",
		"anthropic native": "Bash(git diff:*), Write, mcp__x__y",
		"openai":           "shell for Bash(git diff:*), write_file for Write, mcp__x__y",
		"openai native":    "exec_command for Bash(git diff:*), apply_patch for Write, mcp__x__y",
		"gemini":           "shell for Bash(git diff:*), write_file for Write, mcp__x__y",
		"gemini native":    "run_shell_command for Bash(git diff:*), write_file for Write, mcp__x__y"}
	for _, family := range profiles.Names() {
		for _, native := range []bool{false, true} {
			name := family + map[bool]string{true: " native"}[native]
			t.Run(name, func(t *testing.T) {
				s := newSkillful(t)
				put(t, s.home, ".claude/skills/review/SKILL.md", reviewSkill)
				put(t, s.home, ".claude/skills/review/reference.md", "THE REFERENCE")
				put(t, s.dir, ".agents/skills/deploy/SKILL.md",
					"---\nname: deploy\ndescription: Deploys the program\n---\nRun scripts/deploy.sh.\n")
				put(t, s.dir, ".agents/skills/deploy/scripts/deploy.sh", "echo deployed\n")
				read := readers()[name]
				script := fakellm.Script(calls(t, "skill", object{"name": "review"}, "skill", object{"name": "deploy"}),
					fakellm.Turn{Calls: []fakellm.Call{{Name: read[0], Args: fmt.Appendf(nil, read[1],
						filepath.Join(s.home, ".claude/skills/review/reference.md"))}}}, fakellm.Turn{Text: "done"})
				s.serve(script)
				c := s.config(family, native)
				c.TrustProject = true
				s.submit(c, "the task", s.listen)
				requests := s.server.Requests()
				first := requests[0]
				for _, want := range []string{"\n  - `deploy`: Deploys the program\n  - `review`: Reviews a change: " +
					"style, tests"} {
					if !strings.Contains(first.System, want) {
						t.Errorf("the prompt lacks %q:\n%s", want, first.System)
					}
				}
				for _, r := range requests {
					if r.System != first.System || !slices.Equal(r.Tools, first.Tools) ||
						!slices.Contains(r.Tools, "skill") {
						t.Error("the beginning of a request has changed")
					}
				}
				results := s.lastResults()
				for _, want := range []string{"Read reference.md first.",
					"directory: " + s.home + "/.claude/skills/review", "Its files: reference.md",
					expected[name] + ". That permits nothing",
					"Run scripts/deploy.sh.", "Its files: scripts/deploy.sh", "THE REFERENCE"} {
					if !strings.Contains(results, want) {
						t.Errorf("the results lack %q:\n%s", want, results)
					}
				}
				var epochs []int
				for _, ev := range s.events {
					if w, ok := ev.(*agent.Warning); ok {
						t.Errorf("a warning: %+v", w)
					}
					if step, ok := ev.(*agent.StepStart); ok {
						epochs = append(epochs, step.Epoch)
					}
				}
				if len(epochs) != 3 || len(slices.Compact(epochs)) != 1 {
					t.Errorf("the steps are in the epochs %v", epochs)
				}
			})
		}
	}
}

// A project's skills are not used before its user trusts it. One warning says so, and the session
// works.
func TestM6_SkillsOfAnUntrustedProject(t *testing.T) {
	s := newSkillful(t, fakellm.Turn{Text: "done"})
	for _, place := range []string{".agents", ".claude", ".attractor"} {
		put(t, s.dir, place+"/skills/evil"+place+"/SKILL.md", "---\ndescription: DO EVIL\n---\nEvil.")
	}
	_, result := s.submit(s.config("anthropic", false), "the task", s.listen)
	if first := s.server.Requests()[0]; strings.Contains(string(first.Body), "EVIL") ||
		slices.Contains(first.Tools, "skill") || result.Text != "done" {
		t.Errorf("%q with the request %s", result.Text, first.Body)
	}
	want := []string{"These parts of the project are not used, because the project is not trusted: skills: " +
		"evil.attractor, evil.agents, evil.claude. To see the files and decide, run: attractor trust DIR"}
	if diff := cmp.Diff(want, s.warnings("untrusted")); diff != "" {
		t.Error(diff)
	}
}

// Of skills with one name the user's counts, and warnings name the others. A copy, and a link to
// the same skill, are not worth one. A skill with a mistake costs no other skill.
func TestM6_SkillsWithMistakes(t *testing.T) {
	s := newSkillful(t, calls(t, "skill", object{"name": "deploy"}, "skill", object{"name": "linked"}),
		fakellm.Turn{Text: "done"})
	skill := func(text string) string { return "---\ndescription: " + text + "\n---\nTEXT " + text }
	put(t, s.dir, ".claude/skills/deploy/SKILL.md", skill("of the project"))
	put(t, s.home, ".agents/skills/deploy/SKILL.md", skill("of the user"))
	put(t, s.home, ".claude/skills/deploy/SKILL.md", skill("another of the user"))
	put(t, s.home, ".agents/skills/copy/SKILL.md", skill("a copy"))
	put(t, s.home, ".claude/skills/copy/SKILL.md", skill("a copy"))
	put(t, s.home, "elsewhere/linked/SKILL.md", skill("linked: by an installer"))
	put(t, s.home, ".claude/skills/big/SKILL.md", strings.Repeat("x", 2<<20))
	put(t, s.home, ".claude/skills/quoted/SKILL.md",
		"---\ndescription: \"Reads\" and: writes\nusr-invocable: no\n---\nText")
	put(t, s.home, ".claude/skills/small/skill.md", skill("small"))
	put(t, s.home, ".claude/skills/out/other.md", "x")
	put(t, s.home, "secret", "TOP SECRET")
	put(t, s.home, ".claude/skills/README.md", "no skill")
	put(t, s.dir, ".agents/skills/inner/SKILL.md", skill("inner"))
	s.linkIn(s.home, "../../elsewhere/linked", ".claude/skills/linked")
	s.linkIn(s.home, "../../.claude/skills/linked", ".agents/skills/linked")
	s.linkIn(s.home, "../../../secret", ".claude/skills/out/SKILL.md")
	s.linkIn(s.dir, "../../inner.md", ".agents/skills/leaves/SKILL.md")
	put(t, s.dir, ".agents/inner.md", skill("TOP SECRET"))
	c := s.config("anthropic", false)
	c.TrustProject = true
	s.submit(c, "the task", s.listen)
	want := []string{
		"HOME/.claude/skills/big/SKILL.md: the file has more than 1024 KiB, so it is not used",
		"HOME/.claude/skills/deploy/SKILL.md: the skill is not used, because there is another skill deploy: " +
			"HOME/.agents/skills/deploy/SKILL.md",
		"HOME/.claude/skills/out/SKILL.md: SKILL.md is a symbolic link that leads out of the skill's directory, so " +
			"it is not read",
		"HOME/.claude/skills/quoted/SKILL.md, line 2: the value of description is not valid YAML (mapping values are " +
			"not allowed in this context), so it is read as it is written",
		"HOME/.claude/skills/quoted/SKILL.md, line 3: unknown fields have no effect: usr-invocable; the supported " +
			"fields are name, description, when_to_use, argument-hint, disable-model-invocation, user-invocable, " +
			"arguments, allowed-tools, license, compatibility, metadata",
		"HOME/.claude/skills/small: the skill is not used, because its file is called skill.md; rename it to SKILL.md",
		"DIR/.agents/skills/leaves/SKILL.md: SKILL.md is a symbolic link that leads out of the skill's directory, so " +
			"it is not read",
		"DIR/.claude/skills/deploy/SKILL.md: the skill is not used, because there is another skill deploy: " +
			"HOME/.agents/skills/deploy/SKILL.md",
	}
	if diff := cmp.Diff(want, s.warnings("skills")); diff != "" {
		t.Error(diff)
	}
	requests := s.server.Requests()
	for _, line := range []string{"`copy`: a copy", "`deploy`: of the user", "`inner`: inner",
		"`linked`: linked: by an installer", "`quoted`: \"Reads\" and: writes"} {
		if !strings.Contains(requests[0].System, "\n  - "+line) {
			t.Errorf("the prompt lacks %q:\n%s", line, requests[0].System)
		}
	}
	if results := s.lastResults(); !strings.Contains(results, "TEXT of the user") ||
		!strings.Contains(results, "TEXT linked") || strings.Contains(s.lastRequest(), "SECRET") {
		t.Error(results)
	}
}

// linkIn makes a symbolic link in a directory.
func (s *skillful) linkIn(dir, target, name string) {
	s.Helper()
	name = filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		s.Fatal(err)
	}
	if err := os.Symlink(target, name); err != nil {
		s.Skipf("cannot make symbolic links here: %v", err)
	}
}

// serve replaces the model.
func (s *skillful) serve(model fakellm.Model) {
	s.server = fakellm.New(model, fakellm.Options{})
	web := httptest.NewServer(s.server)
	s.Cleanup(web.Close)
	s.url = web.URL
}

// A person uses a skill by its name. What only looks like a command is text.
func TestM6_APersonUsesASkill(t *testing.T) {
	s := newSkillful(t)
	put(t, s.home, ".agents/skills/deploy/SKILL.md",
		"---\ndescription: Deploys\ndisable-model-invocation: true\nargument-hint: [where]\n---\nDeploy to $ARGUMENTS.")
	put(t, s.home, ".agents/skills/style/SKILL.md", "---\ndescription: Style\nuser-invocable: false\n---\nText")
	setup, err := prepare(t.Context(), s.config("openai", true))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := setup.Close(); err != nil {
			t.Error(err)
		}
	}()
	for line, want := range map[string]string{
		"/deploy the tests": "/deploy the tests\n\nThese are the instructions of the skill deploy.\nFile names in " +
			"them are relative to its directory: " + s.home +
			"/.agents/skills/deploy\n\nDeploy to the tests.\n",
		"/deploy\nstaging": "/deploy staging\n\nThese are the instructions of the skill deploy.\nFile names in them " +
			"are relative to its directory: " + s.home +
			"/.agents/skills/deploy\n\nDeploy to staging.\n",
		"/style x":             "",
		"/etc/passwd is wrong": "",
		"deploy":               "",
	} {
		parts, is, err := setup.Command(t.Context(), line)
		if err != nil || is != (want != "") || parts.Text() != want {
			t.Errorf("%q is %q, %v, %v", line, parts.Text(), is, err)
		}
	}
	list := setup.Commands()
	if len(list) != 1 || list[0].Name != "deploy" || list[0].Hint != "[where]" || list[0].Kind != SkillCommand ||
		list[0].Origin != ext.User {
		t.Errorf("%+v", list)
	}
	if !strings.Contains(guidance(setup.Options.Profile), "`style`") ||
		strings.Contains(guidance(setup.Options.Profile), "`deploy`") {
		t.Error("the model has the wrong skills")
	}
}

// The commands in the text of a skill that a person uses are calls that rules decide about. A model
// that loads the skill runs none.
func TestM6_CommandsInASkill(t *testing.T) {
	s := newSkillful(t, calls(t, "skill", object{"name": "count"}), fakellm.Turn{Text: "done"})
	put(t, s.home, ".agents/skills/count/SKILL.md", "---\ndescription: Counts\n---\nThere: !`echo $((6*7)) $1`")
	put(t, s.home, ".agents/skills/denied/SKILL.md", "---\ndescription: Is denied\n---\nThere: !`touch made`")
	put(t, s.home, ".claude/settings.json", `{"permissions": {"allow": ["Bash(echo:*)"], "deny": ["Bash(touch:*)"]}}`)
	c := s.config("anthropic", false)
	c.Mode, c.Ask = permit.ModeFull, nil
	setup, err := prepare(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	parts, is, err := setup.Command(t.Context(), "/count 'a b'")
	if err != nil || !is || !strings.Contains(parts.Text(), "There: 42 a b\n") {
		t.Errorf("%q, %v, %v", parts.Text(), is, err)
	}
	if _, is, err := setup.Command(t.Context(), "/denied"); !is || !errors.Is(err, ErrRefused) ||
		s.read("made") != "-" {
		t.Errorf("a denied command: %v, %v", is, err)
	}
	if err := setup.Close(); err != nil {
		t.Error(err)
	}
	s.submit(c, "the task")
	if results := s.lastResults(); !strings.Contains(results, "There: !`echo $((6*7)) $1`") {
		t.Error(results)
	}
}

// guidance returns the guidance of the tool for skills.
func guidance(p profile.Profile) string {
	for i := range p.Tools {
		if p.Tools[i].Name == ext.SkillToolName {
			return p.Tools[i].Guidance
		}
	}
	return ""
}

// A rule that denies a skill counts, and one that asks about it asks.
func TestM6_RulesForSkills(t *testing.T) {
	s := newSkillful(t, calls(t, "skill", object{"name": "one"}, "skill", object{"name": "two"}, "skill",
		object{"name": "three"}), fakellm.Turn{Text: "done"})
	for _, name := range []string{"one", "two", "three"} {
		put(t, s.home, ".claude/skills/"+name+"/SKILL.md", "---\ndescription: x\n---\nTEXT OF "+name)
	}
	put(t, s.home, ".claude/settings.json", `{"permissions": {"deny": ["Skill(one)"], "ask": ["Skill(two)"]}}`)
	c := s.config("anthropic", false)
	var asked []string
	c.Ask = func(_ context.Context, q permit.Question) (permit.Answer, error) {
		asked = append(asked, q.Call.Args)
		return permit.Answer{Reason: "no"}, nil
	}
	s.submit(c, "the task", s.listen)
	results := s.lastResults()
	if strings.Contains(results, "TEXT OF one") || strings.Contains(results, "TEXT OF two") ||
		!strings.Contains(results, "TEXT OF three") || len(asked) != 1 || !strings.Contains(asked[0], "two") {
		t.Errorf("asked about %q:\n%s", asked, results)
	}
}

// A rule that denies a skill counts however a model writes the name.
func TestM6_RulesForSkillsByOtherNames(t *testing.T) {
	var loads []fakellm.Call
	for _, args := range []string{`{"name":"/one"}`, `{"name":" one\n"}`, `{"name":"//one"}`, `{"name":"ONE"}`,
		`{"skill":"two","name":"one"}`, `{"NAME":"two","name":"one"}`, `{"name":"two"}`} {
		loads = append(loads, fakellm.Call{Name: "skill", Args: []byte(args)})
	}
	s := newSkillful(t, fakellm.Turn{Calls: loads}, fakellm.Turn{Text: "done"})
	for _, name := range []string{"one", "two"} {
		put(t, s.home, ".claude/skills/"+name+"/SKILL.md", "---\ndescription: x\n---\nTEXT OF "+name)
	}
	put(t, s.home, ".claude/settings.json", `{"permissions": {"deny": ["Skill(one)"]}}`)
	s.submit(s.config("anthropic", false), "the task", s.listen)
	if results := s.lastResults(); strings.Contains(results, "TEXT OF one") ||
		!strings.Contains(results, "TEXT OF two") {
		t.Errorf("a denied skill was loaded:\n%s", results)
	}
}

// A session that is resumed with other skills has the requests that it would have had, and its
// model can load the new ones.
func TestM6_ResumedWithOtherSkills(t *testing.T) {
	s := newSkillful(t, fakellm.Turn{Text: "one"},
		calls(t, "skill", object{"name": "new"}, "skill", object{"name": "old"}), fakellm.Turn{Text: "two"})
	put(t, s.home, ".claude/skills/old/SKILL.md", "---\ndescription: Old\n---\nTEXT OF old")
	c := s.config("gemini", false)
	id, _ := s.submit(c, "the task")
	put(t, s.home, ".claude/skills/new/SKILL.md", "---\ndescription: New\n---\nTEXT OF new")
	if err := os.RemoveAll(filepath.Join(s.home, ".claude/skills/old")); err != nil {
		t.Fatal(err)
	}
	c.Resume = id
	s.submit(c, "go on", s.listen)
	requests := s.server.Requests()
	if first, last := requests[0], requests[len(requests)-1]; first.System != last.System ||
		!slices.Equal(first.Tools, last.Tools) {
		t.Error("the beginning of the requests has changed")
	}
	if results := s.lastResults(); !strings.Contains(results, "TEXT OF new") ||
		!strings.Contains(results, "There is no skill old. The skills are: new") {
		t.Error(results)
	}
}

// A summary that replaces the text of a skill has to say so, and what else a program wants to keep.
func TestM6_SkillsAfterACompaction(t *testing.T) {
	s := newSkillful(t, calls(t, "skill", object{"name": "review"}, "skill", object{"name": "unknown"}),
		fakellm.Turn{Text: "one"}, fakellm.Turn{Text: "two"},
		fakellm.Turn{Text: "SUMMARY"}, fakellm.Turn{Text: "three"})
	put(t, s.home, ".claude/skills/review/SKILL.md", reviewSkill)
	setup, err := prepare(t.Context(), s.config("anthropic", false))
	if err != nil {
		t.Fatal(err)
	}
	setup.Options.BeforeCompact = func(context.Context, agent.Compacting) (string, error) {
		return "KEEP THE NUMBERS",
			nil
	}
	setup.Options.Policy.Compaction = agent.CompactionPolicy{Threshold: 0.9, KeepTurns: 1}
	session, err := setup.Start(t.Context())
	if err != nil {
		t.Fatal(errors.Join(err, setup.Close()))
	}
	for _, task := range []string{"the task", "go on"} {
		if _, err := session.Submit(t.Context(), task); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(session.Compact(t.Context()), session.Close(), setup.Close()); err != nil {
		t.Fatal(err)
	}
	if r := s.server.Requests()[3]; !strings.Contains(r.System,
		"KEEP THE NUMBERS\n\nThe text of these skills is replaced as well: review. Name those") {
		t.Errorf("the request for the summary: %s", s.server.Requests()[3].Body)
	}
}

// A session below the root of its repository reads the files of the project's skills, and no other
// file above its directory.
func TestM6_SkillsAboveTheDirectory(t *testing.T) {
	git := peer.Need(t, "git")
	s := newSkillful(t)
	if out, err := exec.Command(git, "init", "-q", s.dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	put(t, s.dir, ".claude/skills/build/SKILL.md", "---\ndescription: Builds\n---\nSee rules.md.")
	put(t, s.dir, ".claude/skills/build/rules.md", "THE RULES")
	put(t, s.dir, "above.md", "ABOVE")
	put(t, s.dir, "sub/x", "")
	s.serve(fakellm.Script(calls(t, "skill", object{"name": "build"}),
		calls(t, "read_file", object{"file_path": filepath.Join(s.dir, ".claude/skills/build/rules.md")},
			"read_file", object{"file_path": "../above.md"}), fakellm.Turn{Text: "done"}))
	c := s.config("anthropic", false)
	c.TrustProject, c.Dir, c.Mode = true, filepath.Join(s.dir, "sub"), permit.ModeFull
	s.submit(c, "the task")
	if results := s.lastResults(); !strings.Contains(results, "THE RULES") || strings.Contains(results, "ABOVE") ||
		!strings.Contains(results, "See rules.md.") {
		t.Error(results)
	}
}

// A subagent has the skills, too.
func TestM6_SkillsOfSubagents(t *testing.T) {
	s := newSkillful(t)
	put(t, s.home, ".claude/skills/review/SKILL.md", reviewSkill)
	s.serve(func(r *fakellm.Request) fakellm.Turn {
		turns := []fakellm.Turn{calls(t, "spawn_agent", object{"task": "part"}),
			calls(t, "wait", object{"agent_id": "agent-1"}), {Text: "done"}}
		if r.Messages[0].Parts.Text() == "part" {
			if !strings.Contains(r.System, "`review`: Reviews") {
				t.Error("the agent's prompt does not list the skills")
			}
			turns = []fakellm.Turn{calls(t, "skill", object{"name": "review"}), {Text: "the agent is done"}}
		}
		return turns[min(r.Turn(), len(turns)-1)]
	})
	s.submit(s.config("openai", false), "the task")
	loaded := slices.ContainsFunc(s.server.Requests(), func(r *fakellm.Request) bool {
		return r.Messages[0].Parts.Text() == "part" && strings.Contains(string(r.Body), "Read reference.md first.")
	})
	if !loaded {
		t.Error("the agent has not loaded the skill")
	}
}
