package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/tool"
)

// questions returns the handler of the model's questions, or nil if no person can answer.
func (p *permission) questions() *agent.Questions {
	if p.console == nil {
		return nil
	}
	return &agent.Questions{Answer: p.reply}
}

// The labels of the lines on which a person answers.
const (
	askLabel    = "Allow it? "
	answerLabel = "Your answer: "
)

// reply asks the person a question of the model, or of the source that the question names, and returns the answer.
func (c *console) reply(ctx context.Context, q tool.Question) (tool.Answer, error) {
	release, err := c.take(ctx)
	if err != nil {
		return tool.Answer{}, err
	}
	defer release()
	fmt.Fprintf(c.out, "\n%s", render.ModelQuestion(q))
	if q.Form != nil {
		return c.fillForm(ctx, q)
	}
	c.discard()
	line, err := c.readLine(ctx, answerLabel)
	if err != nil {
		return tool.Answer{}, err
	}
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(q.Options) {
		line = q.Options[n-1]
	}
	if line == "" {
		return tool.Answer{Action: tool.ActionCancel}, nil
	}
	return tool.Answer{Text: line}, nil
}

// decline is the input with which a person declines to fill in a form.
const decline = "/decline"

// fillForm asks for the fields of a form, the required ones first. The session converts the lines to the types of the fields.
func (c *console) fillForm(ctx context.Context, q tool.Question) (tool.Answer, error) {
	var form render.Form
	if err := json.Unmarshal(q.Form, &form); err != nil {
		return tool.Answer{}, fmt.Errorf("cannot read the form: %w", err)
	}
	fmt.Fprintf(c.out, "  Fill in the fields. An empty line skips a field; %s declines to answer.\n", decline)
	content := map[string]string{}
	c.discard()
	for _, name := range form.Names() {
		line, err := c.readLine(ctx, "  "+form.Label(name)+" > ")
		if err != nil {
			return tool.Answer{}, err
		}
		switch line {
		case decline:
			return tool.Answer{Action: tool.ActionDecline}, nil
		case "":
		default:
			content[name] = line
		}
	}
	filled, err := json.Marshal(content)
	return tool.Answer{Content: filled}, err
}
