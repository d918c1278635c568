package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/sanitize"
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
	who := "The agent"
	if q.Source != "" {
		who = oneLine(q.Source)
	}
	fmt.Fprintf(c.out, "\n%s asks: %s\n", who, strings.ReplaceAll(sanitize.Text(q.Text), "\n", "\n  "))
	if q.Problem != "" {
		fmt.Fprintf(c.out, "  The last answer does not fit: %s.\n", oneLine(q.Problem))
	}
	if q.Form != nil {
		return c.fillForm(ctx, q)
	}
	for i, option := range q.Options {
		fmt.Fprintf(c.out, "  %d. %s\n", i+1, oneLine(option))
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
	var form questionForm
	if err := json.Unmarshal(q.Form, &form); err != nil {
		return tool.Answer{}, fmt.Errorf("cannot read the form: %w", err)
	}
	fmt.Fprintf(c.out, "  Fill in the fields. An empty line skips a field; %s declines to answer.\n", decline)
	content := map[string]string{}
	c.discard()
	for _, name := range form.names() {
		line, err := c.readLine(ctx, "  "+form.describe(name)+" > ")
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

// questionForm holds the parts of a form's JSON Schema that a person needs.
type questionForm struct {
	Properties map[string]struct {
		Title, Description string
		Type               any
		Enum               []any
	}
	Required []string
}

// names returns the names of the fields, the required ones first, each group sorted.
func (f *questionForm) names() []string {
	names := slices.Sorted(maps.Keys(f.Properties))
	slices.SortStableFunc(names, func(a, b string) int { return f.rank(a) - f.rank(b) })
	return names
}

func (f *questionForm) rank(name string) int {
	if slices.Contains(f.Required, name) {
		return 0
	}
	return 1
}

// describe returns the prompt for a field.
func (f *questionForm) describe(name string) string {
	field := f.Properties[name]
	var more []string
	if field.Description != "" {
		more = append(more, field.Description)
	}
	for _, value := range field.Enum {
		more = append(more, fmt.Sprint(value))
	}
	if t, _ := field.Type.(string); t != "" && t != "string" {
		more = append(more, t)
	}
	if slices.Contains(f.Required, name) {
		more = append(more, "required")
	}
	text := cmp.Or(field.Title, name)
	if len(more) > 0 {
		text += " (" + strings.Join(more, ", ") + ")"
	}
	return oneLine(text)
}
