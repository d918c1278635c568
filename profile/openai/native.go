package openai

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

//go:embed native.md
var nativePart string

// nativeOptions add what OpenAI's agent asks for on top: answers that are no longer than they must be.
const nativeOptions = `{"reasoning":{"summary":"auto"},"text":{"verbosity":"low"}}`

// Native returns the profile in the dialect of OpenAI's own agent, codex 0.169: its names, parameters and forms of results, over the
// same executors. It is the classic form, with tools that the model calls one by one; the code mode, in which the model writes
// JavaScript that calls them, is left out, and so is what belongs to that product: goals, the search for deferred tools and the
// hosted web search. Files are read and searched with commands. This project's own are read_output, for what truncation and compaction took
// away, and the tools for subagents, where a session allows them.
func Native() profile.Profile {
	return profile.Profile{
		Name:     "openai",
		Dialect:  "native",
		Provider: "openai",
		Model:    DefaultModel,
		Prompt:   strings.Replace(prompt, toolsMark, strings.TrimSpace(nativePart), 1),
		Tools: append([]tool.Tool{
			coding.ExecCommand(),
			coding.WriteStdin(),
			coding.UpdatePlan(),
			requestUserInput(),
			coding.ApplyPatchFreeform(),
			coding.ViewImage(),
			coding.ReadOutput(),
		}, coding.Agents()...),
		Documents: documents(),
		Options:   json.RawMessage(nativeOptions),
	}
}

type userInputArgs struct {
	Questions []userQuestion `json:"questions" jsonschema:"One to three questions."`
}

type userQuestion struct {
	ID       string       `json:"id" jsonschema:"A name for the question, in snake_case."`
	Header   string       `json:"header" jsonschema:"A heading of a few words."`
	Question string       `json:"question" jsonschema:"The question, in one sentence."`
	Options  []userOption `json:"options" jsonschema:"Two or three answers to choose from, the recommended one first. Another answer may come."`
}

type userOption struct {
	Label       string `json:"label" jsonschema:"The answer, in a few words."`
	Description string `json:"description" jsonschema:"What follows from it, in one sentence."`
}

// maxQuestions is how many questions one call may ask.
const maxQuestions = 3

// requestUserInput is ask_user under the name and with the parameters of OpenAI's agent. Hosts answer with one text, so several
// questions are asked as one.
func requestUserInput() tool.Tool {
	return tool.Adapt(coding.AskUser(), llm.ToolDefinition{
		Name: "request_user_input",
		Description: "Asks the user one to three short questions and waits for the answers. Use it only for decisions that are the user's and that " +
			"the task, the code and the tools cannot settle.",
	}, asOneQuestion, nil)
}

func asOneQuestion(args userInputArgs) (any, error) {
	if n := len(args.Questions); n == 0 || n > maxQuestions {
		return nil, fmt.Errorf("there are %d questions; ask one to %d", n, maxQuestions)
	}
	var asked struct {
		Question string   `json:"question"`
		Options  []string `json:"options,omitempty"`
	}
	var b strings.Builder
	for i, q := range args.Questions {
		if strings.TrimSpace(q.Question) == "" {
			return nil, fmt.Errorf("questions[%d].question is empty", i)
		}
		if len(args.Questions) > 1 {
			fmt.Fprintf(&b, "%d. ", i+1)
		}
		if q.Header != "" {
			fmt.Fprintf(&b, "%s: ", q.Header)
		}
		b.WriteString(q.Question + "\n")
		for _, o := range q.Options {
			fmt.Fprintf(&b, "   - %s: %s\n", o.Label, o.Description)
			if len(args.Questions) == 1 {
				asked.Options = append(asked.Options, o.Label)
			}
		}
	}
	asked.Question = strings.TrimSpace(b.String())
	return asked, nil
}
