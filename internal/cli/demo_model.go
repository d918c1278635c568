package cli

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// demoRepository holds the small project that the demo starts with.
//
//go:embed demo
var demoRepository embed.FS

const demoTask = "sh slug_test.sh fails. Find out why and fix it."

// demoStep holds one response of the scripted model. The model gives it only if the results before
// it are as expected, so the script does not continue if a tool fails.
type demoStep struct {
	expect string // must be in the results before the response
	turn   fakellm.Turn
}

func demoScript() []demoStep {
	const test = "sh slug_test.sh"
	return []demoStep{
		{"", say("I'll read the code and its test, and run the test, all at once.",
			use("read_file", map[string]any{"file_path": "slug.sh"}),
			use("read_file", map[string]any{"file_path": "slug_test.sh"}),
			use("shell", map[string]any{"command": test}))},
		{"FAIL  Hello World", say(
			"Words are joined by `_` instead of `-`, and punctuation stays. `tr -cs` can turn every run of "+
				"other characters into a single dash.",
			use("edit_file", map[string]any{"file_path": "slug.sh", "old_string": "tr ' ' '_'",
				"new_string": "tr -cs 'a-z0-9' '-'"}),
			use("shell", map[string]any{"command": test}))},
		{"FAIL    spaces", say("Better, but a run at the beginning or the end leaves a dash there. Those have to go.",
			use("edit_file", map[string]any{"file_path": "slug.sh", "old_string": "tr -cs 'a-z0-9' '-'",
				"new_string": "tr -cs 'a-z0-9' '-' | sed 's/^-//; s/-$//'"}),
			use("shell", map[string]any{"command": test}))},
		{"ok      spaces", say("All four pass. A last look at the whole change.",
			use("shell", map[string]any{"command": "git diff"}))},
		{"+\tprintf", say("Fixed slug() in slug.sh. It joined words with underscores and kept punctuation; now every " +
			"run of characters other than letters and digits becomes one dash, and none is left at either end. sh " +
			"slug_test.sh passes all four cases.")},
	}
}

// say returns a turn with a text and calls.
func say(text string, calls ...fakellm.Call) fakellm.Turn {
	return fakellm.Turn{Text: text, Calls: calls}
}

// use returns a call of a tool.
func use(name string, args map[string]any) fakellm.Call {
	raw, _ := json.Marshal(args) // which never fails for strings
	return fakellm.Call{Name: name, Args: raw}
}

// demoModel returns the script's next turn.
func demoModel(r *fakellm.Request) fakellm.Turn {
	script := demoScript()
	i := r.Turn()
	if i >= len(script) {
		return fakellm.Turn{Text: "The demo is over."}
	}
	if results := lastResults(r.Messages); !strings.Contains(results, script[i].expect) {
		return fakellm.Turn{Text: fmt.Sprintf("I expected to see %q, but the tools say:\n%s", script[i].expect,
			results)}
	}
	return script[i].turn
}

// lastResults returns the texts of the results in the last message.
func lastResults(messages []llm.Message) string {
	var b strings.Builder
	for _, part := range messages[len(messages)-1].Parts {
		if r, ok := part.(llm.ToolResult); ok {
			b.WriteString(r.Content.Text() + "\n")
		}
	}
	return b.String()
}
