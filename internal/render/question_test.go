package render

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// The question shows who asks, where a command runs, where links lead, which files need an
// approval, and what a call does.
func TestL11_QuestionsSayWhat(t *testing.T) {
	for want, q := range map[string]permit.Question{
		"The subagent agent-2 wants to run:\n  make\n  run_in_background: true\nIn the directory /w/sub.\nAsked because make is unknown.\n": {CommandDir: "/w/sub", Reason: "make is unknown.",
			Request: tool.Request{AgentID: "agent-2", Access: tool.Access{Command: "make"},
				Call: llm.ToolCall{Args: `{"command":"make","description":"ls","timeout_ms":3,"run_in_background":true}`}}},
		"The agent wants to call edit_file:\n  file_path: link\n  replace_all: true\n  - old\n  - text\n  + new\n/w/link leads to /etc/passwd.\n": {Links: []permit.Link{{Path: "/w/link", Target: "/etc/passwd"}},
			Request: tool.Request{Call: llm.ToolCall{Name: "edit_file",
				Args: `{"new_string":"new","file_path":"link","old_string":"old\ntext\n","replace_all":true}`}}},
		"The agent wants to call write_file:\n  content:\n    a\\u{202e}\n    b\nIt changes /w/.mcp.json: it starts programs.\n": {Reason: "it is guarded",
			Request: tool.Request{Call: llm.ToolCall{Name: "write_file", Args: `{"content":"a\u202e\nb\n"}`},
				Access: tool.Access{Guarded: []tool.Guarded{{Path: "/w/.mcp.json", Why: "it starts programs"}}}}},
		"The agent wants to call apply_patch:\n  *** Begin Patch\n  *** End Patch\nAsked because a rule asks.\nThe rule is Edit (x.json:1).\n": {Rule: "Edit (x.json:1)", Reason: "a rule asks",
			Request: tool.Request{Call: llm.ToolCall{Name: "apply_patch", Args: "*** Begin Patch\n*** End Patch\n"}}},
		"The agent ran this in the sandbox:\n  touch /etc/x\nThe sandbox refused: writing /etc/x\nYes runs it again, once and outside the sandbox.\n": {Refused: []string{"writing /etc/x"},
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
		"a command": Question(permit.Question{Request: tool.Request{Access: tool.Access{Command: "ls\u2800\u3164\uffa0"}}}),
		"arguments": Question(permit.Question{Request: tool.Request{Call: llm.ToolCall{Name: "write_file",
			Args: `{"content":"ls\u2800\u3164\uffa0"}`}}}),
		"a plan":     Question(permit.Question{Plan: "ls\u2800\u3164\uffa0"}),
		"a rule":     Choices([]string{"Bash(ls\u2800\u3164\uffa0)"}),
		"a question": ModelQuestion(tool.Question{Text: "ls\u2800\u3164\uffa0"}),
		"an option":  ModelQuestion(tool.Question{Options: []string{"ls\u2800\u3164\uffa0"}}),
		"a field":    new(Form).Label("ls\u2800\u3164\uffa0"),
	} {
		if !strings.Contains(got, `ls\u{2800}\u{3164}\u{ffa0}`) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
