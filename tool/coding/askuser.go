package coding

import (
	"context"
	"errors"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

type askUserArgs struct {
	Question string   `json:"question" jsonschema:"The question, with everything that is needed to answer it."`
	Options  []string `json:"options,omitempty" jsonschema:"Answers to choose from, if there are any. The user may give another."`
}

// AskUser returns the tool ask_user(question, options). Sessions whose host answers no questions do
// not offer it.
func AskUser() tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name: "ask_user",
		Description: "Asks the user, and waits for the answer. Use it only for a decision that is the user's and " +
			"that the task, the code and the tools cannot settle.",
		Parameters: schema("ask_user"),
	}, askUser)
	t.Instead = replaces("ask_user")
	t.Needs = tool.NeedsAnswers
	return tool.WithAccess(t, func(askUserArgs) tool.Access { return tool.Access{Effect: tool.ReadOnly} })
}

func askUser(ctx context.Context, call *tool.Call, args askUserArgs) (tool.Result, error) {
	if strings.TrimSpace(args.Question) == "" {
		return tool.Result{}, errors.New("question is empty; give the question that the user is to answer")
	}
	answer, err := sessionOf(call).Ask(ctx, tool.Question{Text: args.Question, Options: args.Options})
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(answer.String()), nil
}
