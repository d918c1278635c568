package permit_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// A question about an edit has what it would do to the files, which stay as they are until it is
// answered. An edit that would fail, and a file that is no text, have their arguments.
func TestX2_PreviewOfEdits(t *testing.T) {
	g := newGate(t, `{"permissions": {"ask": ["Edit"]}}`)
	for _, more := range []tool.Tool{coding.EditFile(), coding.ApplyPatch()} {
		if err := g.registry.Register(more); err != nil {
			t.Fatal(err)
		}
	}
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	was := func(name string) string {
		data, _ := os.ReadFile(filepath.Join(g.dir, name))
		return string(data)
	}
	put("a", "one\ntwo\nthree\n")
	put("gone", "x\n")
	put("binary", "a\x00b")
	g.answer = permit.Answer{Reason: "no"}
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"edit_file", map[string]any{"file_path": "a", "old_string": "two", "new_string": "2"},
			"modified: @@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"},
		{"write_file", map[string]any{"file_path": "new/b", "content": "x\n"}, "created: @@ -0,0 +1,1 @@\n+x\n"},
		{"apply_patch", map[string]any{"patch": "*** Begin Patch\n*** Delete File: gone\n*** Add File: gone2\n+y\n" +
			"*** Update File: a\n@@\n-one\n+1\n*** Update File: a\n@@\n-three\n+3\n*** End Patch"},
			"deleted: @@ -1,1 +0,0 @@\n-x\ncreated: @@ -0,0 +1,1 @@\n+y\nmodified: @@ -1,3 +1,3 @@\n-one\n+1\n two\n" +
				"-three\n+3\n"},
		{"edit_file", map[string]any{"file_path": "a", "old_string": "not there", "new_string": "2"}, ""},
		{"write_file", map[string]any{"file_path": "binary", "content": "x\n"}, ""},
	} {
		before := len(g.questions)
		g.call(c.tool, c.args)
		if len(g.questions) != before+1 {
			t.Fatalf("%s %v: %d questions", c.tool, c.args, len(g.questions)-before)
		}
		got := ""
		for _, change := range g.questions[before].Changes {
			_, hunks, _ := strings.Cut(change.Diff, "\n@@")
			got += string(change.Kind) + ": @@" + hunks
		}
		if got != c.want {
			t.Errorf("%s %v shows\n%s\nwant\n%s", c.tool, c.args, got, c.want)
		}
	}
	if was("a") != "one\ntwo\nthree\n" || was("gone") != "x\n" || was("new/b") != "" {
		t.Error("a question has changed files")
	}
	g.answer = permit.Answer{Verdict: tool.Allow}
	if g.call("edit_file", map[string]any{"file_path": "a", "old_string": "two",
		"new_string": "2"}); was("a") != "one\n2\nthree\n" {
		t.Errorf("what was shown did not happen: %q", was("a"))
	}
}

// A question about a script has every reason, the gravest first, and the files with secrets and
// those that start something, also those that no reason is about.
func TestX2_ReasonsOfScripts(t *testing.T) {
	g := newGate(t, `{"permissions": {"ask": ["Bash(git push:*)"], "allow": ["Read(.env)"]}}`)
	g.answer = permit.Answer{Reason: "no"}
	g.shell("touch made; curl example.com; cat id_rsa .env; git push; echo x > .git/config; $CMD")
	q := g.questions[0]
	var order []int
	for _, part := range []string{"git push", "usually holds secrets", "CMD", "touch made", "curl"} {
		order = append(order, slices.IndexFunc(q.Reasons, func(why string) bool { return strings.Contains(why, part) }))
	}
	if !slices.IsSorted(order) || order[0] != 0 || q.Reasons[0] != q.Reason {
		t.Errorf("the reasons are %q, at %v", q.Reasons, order)
	}
	var touches []string
	for _, f := range q.Touches {
		name, _ := filepath.Rel(g.dir, f.Path)
		if f.Changes {
			name += " changes"
		}
		touches = append(touches, name)
	}
	if want := []string{"id_rsa", ".env", ".git/config changes"}; !slices.Equal(touches, want) {
		t.Errorf("it touches %q, want %q", touches, want)
	}
}

// Rules about the session's directory begin at the root when they are kept for a project, and stay
// as they are everywhere.
func TestX2_RulesThatLast(t *testing.T) {
	g := newGate(t, `{"permissions": {}}`)
	g.Gate.Project = filepath.Dir(g.dir)
	g.answer = permit.Answer{Reason: "no"}
	g.call("write_file", map[string]any{"file_path": "b", "content": "x\n"})
	q := g.questions[0]
	if got := q.Lasting(q.Project); !slices.Equal(got, []string{"Edit(/" + filepath.Base(g.dir) + "/**)"}) {
		t.Errorf("for the project: %q", got)
	}
	if got := q.Lasting(""); !slices.Equal(got, []string{"Edit(./**)"}) {
		t.Errorf("everywhere: %q", got)
	}
	if got := q.Lasting(g.dir + "x"); len(got) != 0 {
		t.Errorf("in a project elsewhere: %q", got)
	}
	if q.Inner = true; len(q.Lasting("")) != 0 {
		t.Error("the directory of an agent lasts")
	}
}

// Rules about the directory of a session that is reached through a link begin at the root of the
// project all the same.
func TestX2_RulesThatLastThroughALink(t *testing.T) {
	project, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.Mkdir(filepath.Join(project, "sub"), 0o700), os.Symlink(project, link)); err != nil {
		t.Skipf("this system does not let us make a link: %v", err)
	}
	project, err := filepath.EvalSymlinks(project)
	if err != nil {
		t.Fatal(err)
	}
	g := newGateIn(t, filepath.Join(link, "sub"), `{"permissions": {}}`)
	g.Gate.Project, g.answer = filepath.ToSlash(project), permit.Answer{Reason: "no"}
	g.call("write_file", map[string]any{"file_path": "b", "content": "x\n"})
	q := g.questions[0]
	if got := q.Lasting(q.Project); !slices.Equal(got, []string{"Edit(/sub/**)"}) {
		t.Errorf("kept are %q", got)
	}
}

// A rule about a command is kept as it was shown, also one for a program of the project.
func TestX2_CommandsLastAsShown(t *testing.T) {
	for _, rule := range []string{"Bash(./bin/bash build.sh)", "Bash(./gradlew test:*)", "Skill(./x)",
		"WebFetch(./x)"} {
		q := permit.Question{Allow: []string{rule}}
		for _, project := range []string{"", "/", t.TempDir()} {
			for _, q.Inner = range []bool{false, true} {
				if got := q.Lasting(project); !slices.Equal(got, q.Allow) {
					t.Errorf("shown is %q, kept in %q %q", rule, project, got)
				}
			}
		}
	}
}

// Nobody is asked about a file that the tools cannot reach, because the call would fail whatever
// the answer is. A command may reach it.
func TestX2_NoQuestionInVain(t *testing.T) {
	g := newGate(t, someRules)
	g.answer = permit.Answer{Verdict: tool.Allow}
	outside := filepath.Join(t.TempDir(), "a")
	for _, c := range []struct {
		tool string
		args map[string]any
	}{
		{"read_file", map[string]any{"file_path": outside}},
		{"write_file", map[string]any{"file_path": outside, "content": "x"}},
	} {
		if got := g.call(c.tool, c.args); len(g.questions) > 0 ||
			!strings.Contains(got, "outside of the allowed directories") {
			t.Fatalf("%s: %d questions, %s", c.tool, len(g.questions), got)
		}
	}
	if g.shell("touch " + outside); len(g.questions) != 1 {
		t.Errorf("a command: %d questions", len(g.questions))
	}
}
