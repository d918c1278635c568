package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

type userInputArgs struct {
	Questions []userQuestion `json:"questions"`
}

type userQuestion struct {
	ID       string       `json:"id"`
	Header   string       `json:"header"`
	Question string       `json:"question"`
	Options  []userOption `json:"options"`
}

type userOption struct {
	Label       string `json:"label"`
	Description string `json:"description"`
}

const userInputParameters = `{"type":"object","properties":{"questions":{"type":"array","items":{"type":"object","properties":{
"id":{"type":"string","description":"A name for the question, in snake_case."},
"header":{"type":"string","description":"A heading of a few words."},
"question":{"type":"string","description":"The question, in one sentence."},
"options":{"type":"array","items":{"type":"object","properties":{
"label":{"type":"string","description":"The answer, in a few words."},
"description":{"type":"string","description":"What follows from it, in one sentence."}
},"required":["label","description"],"additionalProperties":false},
"description":"Two or three answers to choose from, the recommended one first. The user may give another."}
},"required":["id","header","question","options"],"additionalProperties":false},
"description":"One to three questions."}},"required":["questions"],"additionalProperties":false}`

// maxQuestions limits the questions of one call.
const maxQuestions = 3

// requestUserInput returns ask_user with the name and the parameters of OpenAI's agent. Several
// questions are asked as one, because hosts answer with one text.
func requestUserInput() tool.Tool {
	return tool.Adapt(coding.AskUser(), llm.ToolDefinition{
		Name: "request_user_input",
		Description: "Asks the user one to three short questions and waits for the answers. Use it only for " +
			"decisions that are the user's and that the task, the code and the tools cannot settle.",
		Parameters: json.RawMessage(userInputParameters),
	}, asOneQuestion, nil)
}

// asOneQuestion returns the arguments of ask_user.
func asOneQuestion(args userInputArgs) (any, error) {
	if n := len(args.Questions); n == 0 || n > maxQuestions {
		return nil, fmt.Errorf("there are %d questions; ask 1 to %d", n, maxQuestions)
	}
	var asked struct {
		Question string   `json:"question"`
		Options  []string `json:"options,omitempty"`
	}
	var b strings.Builder
	for i, q := range args.Questions {
		if strings.TrimSpace(q.Question) == "" {
			return nil, fmt.Errorf("questions[%d].question is empty; give the question that the user is to answer", i)
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
