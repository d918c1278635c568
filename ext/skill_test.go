package ext_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// Skills as they are found in public repositories.
func TestM6_SkillFiles(t *testing.T) {
	for _, c := range []struct {
		name, dir, data string
		want            *ext.Skill
		mistakes        []string
	}{
		{"as the specification has it", "pdf-forms",
			"---\nname: pdf-forms\ndescription: Fills PDF forms. Use when the user mentions PDFs or forms.\nlicense: " +
				"Apache-2.0\ncompatibility: Needs python3\nmetadata:\n  author: example\n  version: \"1.0\"\n" +
				"allowed-tools: Bash(python3:*) Read\n---\n\n# PDF forms\n\nRun scripts/fill.py.\n",
			&ext.Skill{Name: "pdf-forms", Description: "Fills PDF forms. Use when the user mentions PDFs or forms.",
				ForModel: true, ForUser: true,
				AllowedTools: []string{"Bash(python3:*)", "Read"}, Body: "# PDF forms\n\nRun scripts/fill.py."}, nil},
		{"UTF-16", "odd", "\xff\xfeT\x00", nil,
			[]string{"SKILL.md: the file has NUL bytes, so it is not used: save it as UTF-8 text"}},
		{"for people alone", "deploy",
			"---\nname: deploy\ndescription: Deploys\ndisable-model-invocation: true\nargument-hint: [environment]\n" +
				"---\nDeploy $ARGUMENTS.",
			&ext.Skill{Name: "deploy", Description: "Deploys", Hint: "[environment]", ForUser: true,
				Body: "Deploy $ARGUMENTS."}, nil},
		{"for models alone", "style",
			"---\ndescription: >\n  How code looks here.\n\n  Use always.\nuser-invocable: false\n---\nText",
			&ext.Skill{Name: "style",
				Description: "How code looks here. Use always.", ForModel: true, Body: "Text"}, nil},
		{"fields of another program", "research",
			"---\nname: research\ndescription: Looks around\ncontext: fork\nagent: Explore\nmodel: opus\nhooks:\n  " +
				"Stop: []\nversion: 2\ntriggers: [a, b]\n---\nText",
			&ext.Skill{Name: "research", Description: "Looks around", ForModel: true, ForUser: true, Body: "Text"},
			[]string{
				"SKILL.md, line 4: context has no effect: skills are read by the session's own agent",
				"SKILL.md, line 5: agent has no effect: skills are read by the session's own agent",
				"SKILL.md, line 6: model has no effect: a skill does not change the session's model",
				"SKILL.md, line 7: hooks has no effect: write hooks into .claude/settings.json",
				"SKILL.md, line 10: unknown fields have no effect: triggers; the supported fields are name, " +
					"description, when_to_use, argument-hint, disable-model-invocation, user-invocable, arguments, " +
					"allowed-tools, license, compatibility, metadata"}},
		{"another name, and a colon", "code-review",
			"---\nname: Code Review\ndescription: Reviews code: style, tests. Triggers on: 'review'\nwhen_to_use: " +
				"Before a commit\n---\nText",
			&ext.Skill{Name: "code-review",
				Description: "Reviews code: style, tests. Triggers on: 'review' Before a commit", ForModel: true,
				ForUser: true, Body: "Text"},
			[]string{"SKILL.md, line 2: the name Code Review is not that of the directory, so the skill is called " +
				"code-review"}},
		{"no front matter", "notes", "# Notes\n\nHow we write\nnotes.\n\nMore.",
			&ext.Skill{Name: "notes", Description: "How we write notes.", ForModel: true, ForUser: true,
				Body: "# Notes\n\nHow we write\nnotes.\n\nMore."},
			[]string{"SKILL.md, line 1: the skill has no description, so the model reads its first paragraph instead"}},
		{"a heading and no empty line", "notes", "# Notes\nHow we write.\n## More",
			&ext.Skill{Name: "notes", Description: "How we write.", ForModel: true, ForUser: true,
				Body: "# Notes\nHow we write.\n## More"},
			[]string{"SKILL.md, line 1: the skill has no description, so the model reads its first paragraph instead"}},
		{"nothing in it", "empty", "", &ext.Skill{Name: "empty", ForModel: true, ForUser: true}, []string{
			"SKILL.md: the skill has no text behind its front matter",
			"SKILL.md, line 1: the skill has no description, so the model reads its first paragraph instead"}},
		{"a command for another program", "status",
			"---\ndescription: Says what changed\n---\nText\n\nThe changes: !`git status`\n",
			&ext.Skill{Name: "status", Description: "Says what changed",
				ForModel: true, ForUser: true, Body: "Text\n\nThe changes: !`git status`"},
			[]string{"SKILL.md, line 6: a command such as !`ls` runs only if a person uses the skill; a model that " +
				"loads it reads the command"}},
		{"a long description", "long", "---\ndescription: " + strings.Repeat("é", 1030) + "\n---\nText",
			&ext.Skill{Name: "long", Description: strings.Repeat("é", 1021) + "...",
				ForModel: true, ForUser: true, Body: "Text"},
			[]string{"SKILL.md, line 2: the description has 1030 characters, of which the model reads 1024"}},
		{"capital letters", "My_Skill", "---\ndescription: x\n---\nText", &ext.Skill{Name: "My_Skill", Description: "x",
			ForModel: true, ForUser: true, Body: "Text"},
			[]string{"SKILL.md: other programs may refuse the name My_Skill: the specification allows a-z, 0-9 and - " +
				"between them"}},
		{"no name", "a b", "---\ndescription: x\n---\nText", nil,
			[]string{"SKILL.md: the skill is not used, because its directory's name has other characters than a-z, " +
				"0-9 and -, has more than 64, or begins with mcp__",
				"SKILL.md, line 2: unknown fields have no effect: description"}},
		{"the name of a prompt", "mcp__x__y", "Text", nil,
			[]string{"SKILL.md: the skill is not used, because its directory's name has other characters than a-z, " +
				"0-9 and -, has more than 64, or begins with mcp__"}},
		{"two megabytes", "big", "---\ndescription: x\n---\n" + strings.Repeat("x", 2<<20), nil,
			[]string{"SKILL.md: the file has more than 1024 KiB, so it is not used"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, mistakes := ext.ParseSkill(ext.File{Name: "SKILL.md", Data: []byte(c.data), Origin: ext.Project},
				c.dir)
			if c.want != nil {
				c.want.File, c.want.Origin = "SKILL.md", ext.Project
			}
			if diff := cmp.Diff(c.want, got, cmpopts.IgnoreUnexported(ext.Skill{})); diff != "" {
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

// newSkill returns a skill with files in a directory, given as names and contents by turns.
func newSkill(t *testing.T, name string, files ...string) *ext.Skill {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(files); i += 2 {
		file := filepath.Join(dir, files[i])
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(files[i+1]),
			0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return &ext.Skill{Name: name, Description: "Does " + name, ForModel: true, ForUser: true,
		Body: "Text of " + name + ", see ${CLAUDE_SKILL_DIR}/x", Dir: dir}
}

// loadSkill calls the tool for skills.
func loadSkill(t *testing.T, args string, skills ...*ext.Skill) *tool.Outcome {
	t.Helper()
	made, _ := ext.SkillTool(skills, ext.DefaultListing)
	registry, err := tool.NewRegistry(made)
	if err != nil {
		t.Fatal(err)
	}
	return registry.Run(context.Background(), llm.ToolCall{ID: "1", Name: ext.SkillToolName, Args: args},
		tool.Call{Session: new(tool.Plain)},
		func(_ context.Context, req tool.Request) (tool.Decision, error) {
			if req.Access.Effect != tool.ReadOnly {
				t.Error("loading a skill is said to have effects")
			}
			return tool.Decision{Verdict: tool.Allow}, nil
		})
}

func TestM6_LoadingASkill(t *testing.T) {
	s := newSkill(t, "fill", ext.SkillFile, "x", "scripts/fill.py", "x", "reference.md", "x", ".git/config", "x")
	s.AllowedTools = []string{"Read", "Bash(python3:*)"}
	hidden := newSkill(t, "hidden")
	hidden.ForModel = false
	got := loadSkill(t, `{"name": "fill"}`, s, hidden)
	want := "These are the instructions of the skill fill.\nFile names in them are relative to its directory: " +
		s.Dir + "\n" +
		"Its author expects it to use these tools: Read, Bash(python3:*). That permits nothing: calls are decided " +
		"about as always.\nIts files: reference.md, scripts/fill.py\n\nText of fill, see " + s.Dir + "/x\n"
	if diff := cmp.Diff(want, got.Model.Text()); diff != "" || got.IsError {
		t.Error(diff)
	}
	var loaded ext.LoadedSkill
	if err := json.Unmarshal(got.Structured, &loaded); err != nil ||
		!slices.Equal(loaded.Files, []string{"reference.md", "scripts/fill.py"}) || loaded.Dir != s.Dir {
		t.Errorf("for programs: %s, %v", got.Structured, err)
	}
	for args, want := range map[string]string{
		`{"name": "/fill"}`:      "There is no skill /fill. Did you mean fill?",
		`{"name": " fill"}`:      "There is no skill  fill. Did you mean fill?",
		`{"name": "Fill"}`:       "There is no skill Fill. Did you mean fill?",
		`{"name": "other"}`:      "There is no skill other. The skills are: fill",
		`{"name": "hidden"}`:     "Only the user can use the skill hidden, by /hidden.",
		`{"name": "a\u001b[0m"}`: `There is no skill "a\x1b[0m".`,
	} {
		if got := loadSkill(t, args, s, hidden); !strings.HasPrefix(got.Model.Text(), want) || !got.IsError {
			t.Errorf("%s: %s", args, got.Model.Text())
		}
	}
}

// The directory of a skill is one word of a command, whatever its name is.
func TestM6_TheDirectoryIsAWord(t *testing.T) {
	s := newSkill(t, "say")
	s.Dir = "/home/a b/$(touch made); 'x'"
	s.Body = "In ${CLAUDE_SKILL_DIR}:\n!`cat ${CLAUDE_SKILL_DIR}/x \"${CLAUDE_SKILL_DIR}/y\" $1`"
	for _, args := range []string{"", "z"} {
		pieces, err := s.Fill(args)
		if err != nil {
			t.Fatal(err)
		}
		script := ""
		for _, p := range pieces {
			if p.Kind == ext.PieceShell {
				script = p.Text
			}
		}
		cmd := exec.Command(peer.Need(t, "sh"), "-c", strings.Replace(script, "cat", "printf '<%s>'", 1))
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		if want := "<" + s.Dir + "/x><" + s.Dir + "/y>"; err != nil || !strings.HasPrefix(string(out), want) ||
			(args != "") != strings.HasSuffix(string(out), "<z>") {
			t.Errorf("%s\n%s, %v, want %s", script, out, err, want)
		}
	}
}

// Arguments have the places that they have in commands, and nothing in them has a meaning. Without
// arguments, and for a model, scripts in the text stay as they are.
func TestM6_ArgumentsOfASkill(t *testing.T) {
	const head = "These are the instructions of the skill deploy.\n\n"
	for _, c := range []struct{ front, body, args, want string }{
		{"", "Deploy $ARGUMENTS now.", "to !`rm` $ARGUMENTS \x1b[0m", "Deploy to !`rm` $ARGUMENTS \\u{1b}[0m now.\n"},
		{"", "Deploy.", " to x ", "Deploy.\n\n\nARGUMENTS: to x\n"},
		{"", "Deploy $1 to $2, not \\$1", "'the app' prod", "Deploy the app to prod, not $1\n"},
		{"arguments: what where\n", "Deploy $what to $where", "app prod", "Deploy app to prod\n"},
		{"", "Run awk '{print $1}', $ARGUMENTS.", "", "Run awk '{print $1}', .\n"},
		{"", "Of @$1:\n!`git log $1 ${CLAUDE_SKILL_DIR}`", "'a;b'", "Of @a;b:\nRUN git log 'a;b' .\n"},
		{"", "!`git log $1`", "", "RUN git log \n"},
	} {
		s, mistakes := ext.ParseSkill(ext.File{Data: []byte("---\ndescription: x\ndisable-model-invocation: true\n" +
			c.front + "---\n" + c.body)}, "deploy")
		if len(mistakes) > 0 {
			t.Error(mistakes)
		}
		pieces, err := s.Fill(c.args)
		got := ""
		for _, p := range pieces {
			got += map[ext.PieceKind]string{ext.PieceShell: "RUN "}[p.Kind] + p.Text
		}
		if err != nil || got != head+c.want {
			t.Errorf("%q, %v", got, err)
		}
		if got := s.Text(); got != head+strings.ReplaceAll(c.body, "${CLAUDE_SKILL_DIR}", ".")+"\n" {
			t.Errorf("for a model: %q", got)
		}
	}
}

// Files that lead out of the skill's directory are neither read nor listed, and the reader is told.
// A directory inside itself ends.
func TestM6_LinksOutOfASkill(t *testing.T) {
	s := newSkill(t, "links", ext.SkillFile, "x", "a.md", "x", "sub/b.md", "x")
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("TOP SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"out": filepath.Join(outside, "secret"), "outdir": outside,
		"inside": "a.md", "sub/up": "..", "gone": "nothing"} {
		if err := os.Symlink(target, filepath.Join(s.Dir, name)); err != nil {
			t.Skipf("cannot make symbolic links here: %v", err)
		}
	}
	text := loadSkill(t, `{"name": "links"}`, s).Model.Text()
	_, list, _ := strings.Cut(text, "Its files: ")
	list, _, _ = strings.Cut(list, "\n\n")
	want := "a.md, inside, sub/b.md\n" +
		"Note: gone is not listed, because it leads out of the skill's directory or cannot be read\n" +
		"Note: out is not listed, because it leads out of the skill's directory or cannot be read\n" +
		"Note: outdir is not listed, because it leads out of the skill's directory or cannot be read"
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
	file := filepath.Join(s.Dir, ext.SkillFile)
	if err := errors.Join(os.Remove(file), os.Symlink(filepath.Join(outside, "secret"), file)); err != nil {
		t.Fatal(err)
	}
	data, err := ext.ReadSkillFile(s.Dir)
	if err == nil || len(data) > 0 || !strings.Contains(err.Error(), "leads out of the skill's directory") {
		t.Errorf("%q, %v", data, err)
	}
	if err := errors.Join(os.Remove(file), os.Mkdir(file, 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := ext.ReadSkillFile(s.Dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory: %v", err)
	}
}

func TestM6_ManyFilesOfASkill(t *testing.T) {
	s := newSkill(t, "many", ext.SkillFile, "x")
	for i := range 150 {
		if err := os.WriteFile(filepath.Join(s.Dir, fmt.Sprintf("f%03d", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text := loadSkill(t, `{"name": "many"}`, s).Model.Text()
	if n := strings.Count(text, ", f") + 1; n != 100 ||
		strings.Count(text, "the skill has more files than are listed here") != 1 {
		t.Errorf("%d files are listed:\n%s", n, text)
	}
	s.Body = strings.Repeat("0123456789\n", 10_000)
	if text := loadSkill(t, `{"name": "many"}`, s).Model.Text(); len(text) > 62_000 ||
		!strings.Contains(text, "The rest is in the file SKILL.md in "+s.Dir) {
		t.Errorf("the text has %d bytes and ends with %s", len(text), text[len(text)-300:])
	}
	s.Dir = filepath.Join(s.Dir, "gone")
	if text := loadSkill(t, `{"name": "many"}`, s).Model.Text(); !strings.Contains(text,
		"Note: the directory of the skill cannot be read") {
		t.Error(text[:300])
	}
}

// The list of skills never has more bytes than its budget. Short descriptions stay whole while
// there is room, and nothing is missing silently.
func TestM6_TheListHasABudget(t *testing.T) {
	for _, c := range []struct {
		skills, description, budget int
		shortened, line             string
	}{
		{3, 100, ext.DefaultListing, "", "  - `skill-000`: 0 " + strings.Repeat("x", 98) + "\n"},
		{50, 1000, ext.DefaultListing,
			"the list of 50 skills does not fit into 8192 bytes, so descriptions are cut after", "...\n"},
		{50, 1000, 1000, "the list of 50 skills does not fit into 1000 bytes, so it has no descriptions",
			"  - `skill-000`\n"},
		{100, 1000, 500, "it has no descriptions, and not these skills: skill-", " more\n"},
	} {
		var skills []*ext.Skill
		for i := range c.skills {
			skills = append(skills, &ext.Skill{Name: fmt.Sprintf("skill-%03d", c.skills-1-i),
				Description: fmt.Sprintf("%d %s", c.skills-1-i, strings.Repeat("x", c.description-2)), ForModel: true})
		}
		skills = append(skills, &ext.Skill{Name: "zz", Description: "short", ForModel: true},
			&ext.Skill{Name: "user", Description: "of the user alone", ForUser: true})
		made, shortened := ext.SkillTool(skills, c.budget)
		_, list, _ := strings.Cut(made.Guidance, "The skills:\n")
		if len(list) > c.budget || !strings.Contains(list, c.line) || !utf8.ValidString(list) ||
			strings.Contains(list, "alone") {
			t.Errorf("the list of %d skills has %d bytes of %d:\n%s", c.skills, len(list), c.budget, list)
		}
		want := strings.ReplaceAll(strings.ReplaceAll(c.shortened, "50 skills", "51 skills"), "100 skills",
			"101 skills")
		if (shortened == "") != (want == "") || !strings.Contains(shortened, want) {
			t.Errorf("%q, want %q", shortened, want)
		}
		if c.budget == ext.DefaultListing && !strings.HasSuffix(list, "  - `zz`: short\n") {
			t.Errorf("a short description was cut: %s", list[len(list)-100:])
		}
		if c.budget == ext.DefaultListing && c.skills == 50 && len(list) < c.budget*9/10 {
			t.Errorf("the list has only %d bytes of %d", len(list), c.budget)
		}
		other, _ := ext.SkillTool(skills[:1], c.budget)
		if diff := cmp.Diff(other.Description, made.Description); diff != "" {
			t.Errorf("the definition depends on the skills: %s", diff)
		}
	}
}

// Arbitrary files are read as skills without a panic, and what the model reads of them is clean and
// bounded.
func FuzzM6_Skills(f *testing.F) {
	f.Add("a", "---\nname: a\ndescription: b: c\nallowed-tools: Read Bash(x)\n---\n$ARGUMENTS !`x`", "args")
	f.Add("A b", "", "")
	f.Fuzz(func(t *testing.T, name, data, args string) {
		s, _ := ext.ParseSkill(ext.File{Name: "SKILL.md", Data: []byte(data)}, name)
		if s == nil {
			return
		}
		made, _ := ext.SkillTool([]*ext.Skill{s}, 300)
		if strings.ContainsAny(made.Guidance+s.Text(), "\x1b\u202e\u2028") || strings.Count(made.Guidance, "\n") > 2 {
			t.Errorf("the guidance is %q", made.Guidance)
		}
		if _, err := s.Fill(args); err != nil && err.Error() == "" {
			t.Error("an error without a text")
		}
	})
}
