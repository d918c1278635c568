package render

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
)

// The question shows who asks, where a command runs, where links lead, which files need an
// approval, and what a call does.
func TestL11_QuestionsSayWhat(t *testing.T) {
	for want, q := range map[string]permit.Question{
		"The subagent agent-2 wants to run:\n  make\n  run_in_background: true\nIn the directory /w/sub.\nAsked " +
			"because make is unknown.\n": {CommandDir: "/w/sub", Reason: "make is unknown.",
			Request: tool.Request{AgentID: "agent-2", Access: tool.Access{Command: "make"},
				Call: llm.ToolCall{Args: `{"command":"make","description":"ls","timeout_ms":3,"run_in_background":true}`}}},
		"The agent wants to call edit_file:\n  file_path: link\n  replace_all: true\n  - old\n  - text\n  + new\n" +
			"/w/link leads to /etc/passwd.\n": {Links: []permit.Link{{Path: "/w/link", Target: "/etc/passwd"}},
			Request: tool.Request{Call: llm.ToolCall{Name: "edit_file",
				Args: `{"new_string":"new","file_path":"link","old_string":"old\ntext\n","replace_all":true}`}}},
		"The agent wants to call write_file:\n  content:\n    a\\u{202e}\n    b\nIt changes /w/.mcp.json: it starts " +
			"programs.\n": {Reason: "it is guarded",
			Request: tool.Request{Call: llm.ToolCall{Name: "write_file", Args: `{"content":"a\u202e\nb\n"}`},
				Access: tool.Access{Guarded: []tool.Guarded{{Path: "/w/.mcp.json", Why: "it starts programs"}}}}},
		"The agent wants to call apply_patch:\n  *** Begin Patch\n  *** End Patch\nAsked because a rule asks.\nThe " +
			"rule is Edit (x.json:1).\n": {Rule: "Edit (x.json:1)", Reason: "a rule asks",
			Request: tool.Request{Call: llm.ToolCall{Name: "apply_patch", Args: "*** Begin Patch\n*** End Patch\n"}}},
		"The agent ran this in the sandbox:\n  touch /etc/x\nThe sandbox refused: writing /etc/x\nYes runs it again, " +
			"once and outside the sandbox.\n": {Refused: []string{"writing /etc/x"},
			Request: tool.Request{Access: tool.Access{Command: "touch /etc/x"}}},
	} {
		if got := Question(q); got != want {
			t.Errorf("the question is\n%s\nwant\n%s", got, want)
		}
	}
}

// The question about a call shows control characters, so that the call cannot hide a part of
// itself.
func TestA15_QuestionHidesNothing(t *testing.T) {
	for _, req := range []tool.Request{
		{Access: tool.Access{Command: "rm x\r  ls\x1b[K"}},
		{Call: llm.ToolCall{Name: "shell", Args: "rm x\r  ls\x1b[K"}},
		{Call: llm.ToolCall{Name: "rm x\r  ls\x1b[K"}},
	} {
		if got := Question(permit.Question{Request: req}); !strings.Contains(got, `rm x\u{d}  ls\u{1b}[K`) {
			t.Errorf("the question is %q", got)
		}
	}
}

// Characters that look blank are escapes in all that a person is asked.
func TestU20_QuestionShowsBlanks(t *testing.T) {
	for name, got := range map[string]string{
		"a command": Question(permit.Question{Request: tool.Request{
			Access: tool.Access{Command: "ls\u2800\u3164\uffa0"}}}),
		"arguments": Question(permit.Question{Request: tool.Request{Call: llm.ToolCall{Name: "write_file",
			Args: `{"content":"ls\u2800\u3164\uffa0"}`}}}),
		"a plan":     Question(permit.Question{Plan: "ls\u2800\u3164\uffa0"}),
		"a rule":     Choices(permit.Question{Allow: []string{"Bash(ls\u2800\u3164\uffa0)"}}),
		"a question": ModelQuestion(tool.Question{Text: "ls\u2800\u3164\uffa0"}),
		"an option":  ModelQuestion(tool.Question{Options: []string{"ls\u2800\u3164\uffa0"}}),
		"a field":    new(Form).Label("ls\u2800\u3164\uffa0"),
	} {
		if !strings.Contains(got, `ls\u{2800}\u{3164}\u{ffa0}`) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// The question about an edit shows each file with the numbers of the lines that change and those
// around them, whole, and what cannot be seen as escapes.
func TestX2_EditAsDiff(t *testing.T) {
	long := strings.Repeat("x", 5000)
	q := permit.Question{Reason: "it changes a.go",
		Request: tool.Request{Dir: "/w", Call: llm.ToolCall{Name: "edit_file", Args: `{"a":1}`}},
		Changes: []tool.Change{{Kind: tool.Modified, Path: "/w/a.go",
			Diff: "--- a/a.go\n+++ b/a.go\n@@ -9,3 +9,3 @@\n one\n-two\x1b[2J\n+" + long +
				"\n three\n@@ -90 +90 @@\n-x\n+x\n\\ No newline at end of file\n"}}}
	want := "The agent wants to change a.go:\n   9   one\n  10 - two\\u{1b}[2J\n  10 + " + long +
		"\n  11   three\n   ⋮\n  90 - x\n  90 + x\n     \\ no line end\n" +
		"All of this is one call, with 8 lines and 5126 characters.\nAsked because it changes a.go.\n"
	if got := Question(q); got != want {
		t.Errorf("the question is\n%s\nwant\n%s", got, want)
	}
	q.Changes = append(q.Changes, tool.Change{Kind: tool.Created, Path: "/x/b", Diff: "--- /dev/null\n+++ b/b\n@@ " +
		"-0,0 +1,2 @@\n+a\r\n+b\r\n"},
		tool.Change{Kind: tool.Moved, From: "/w/c", Path: "/w/d", Diff: "rename from c\nrename to d\n"})
	if got := Question(q); !strings.HasPrefix(got,
		"The agent wants to change 3 files:\n  change a.go:\n   9   one\n") ||
		!strings.Contains(got, "  create /x/b:\n  1 + a\n  2 + b\n  move c to d:\nAll of this is one call") {
		t.Errorf("several files:\n%s", got)
	}
}

// All reasons are told, after the files with secrets and those that start something. What these say
// is not told twice.
func TestX2_EveryReason(t *testing.T) {
	q := permit.Question{Reason: "/w/.env: .env usually holds secrets",
		Request: tool.Request{Access: tool.Access{Command: "x"}},
		Touches: []rules.Touched{{Path: "/w/.env", Why: ".env usually holds secrets"},
			{Path: "/w/.git/config", Why: "git runs it", Changes: true}},
		Reasons: []string{"/w/.env: .env usually holds secrets", "curl is unknown.", "it changes a"}}
	want := "The agent wants to run:\n  x\nIt uses /w/.env: .env usually holds secrets.\nIt changes /w/.git/config: " +
		"git runs it.\nAsked because:\n  - curl is unknown\n  - it changes a\n"
	if got := Question(q); got != want {
		t.Errorf("the question is\n%s\nwant\n%s", got, want)
	}
}
