package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// Person is somebody who can be asked, one question at a time.
type Person interface {
	// Take waits until nobody else asks. The caller calls release after its question.
	Take(ctx context.Context) (release func(), err error)
	// Say shows a text of whole lines, by [InRows] where the columns of the screen are known.
	Say(text string)
	// Discard discards what was typed so far. The rest of a text that was pasted is no answer
	// either.
	Discard()
	// ReadLine returns the next line without the white space around it, or an error when the
	// context ends first.
	ReadLine(ctx context.Context, label string) (string, error)
}

// Turns lets those who ask a person do so one at a time. It is full while somebody asks.
type Turns chan struct{}

// NewTurns returns the turns of a person whom nobody asks yet.
func NewTurns() Turns { return make(Turns, 1) }

// Take waits until nobody else asks, or the context ends. The caller calls release after its
// question.
func (t Turns) Take(ctx context.Context) (release func(), err error) {
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if ctx.Err() != nil {
		<-t
		return nil, context.Cause(ctx)
	}
	return func() { <-t }, nil
}

// Editor is a Person who can change a text.
type Editor interface {
	Person
	// Edit returns the text as the person has changed it, and false if they gave that up.
	Edit(ctx context.Context, label, text string) (changed string, ok bool, err error)
}

// The labels of the lines on which a person answers.
const (
	AskLabel    = "Allow it? "
	AnswerLabel = "Your answer: "
	editLabel   = "Change it: "
)

const (
	// WithdrawnFor is the time that a person needs to see that a question was withdrawn, or that
	// another one is asked. What they type until then was meant for the first question.
	WithdrawnFor = 700 * time.Millisecond
	// ForgottenAfter is the time after which a person no longer types an answer to a question that
	// was withdrawn.
	ForgottenAfter = 5 * time.Second
)

// maxTries limits the tries to answer a question with something that is understood.
const maxTries = 5

// Keep keeps rules that allow for later sessions in a project, or everywhere if that is empty, and
// returns the name of the file.
type Keep func(ctx context.Context, project string, rules []string) (file string, err error)

// Approve asks a person about a tool call. Callers make a [permit.Asker] with it.
func Approve(ctx context.Context, p Person, keep Keep, q permit.Question) (permit.Answer, error) {
	release, err := p.Take(ctx)
	if err != nil {
		return permit.Answer{}, err
	}
	defer release()
	editor, edits := p.(Editor)
	edits = edits && len(q.Refused) == 0
	change := ""
	if edits {
		change = "\n  e  change it first"
	}
	p.Say(fmt.Sprintf("\n%s\n%s%s\n", Question(q), Choices(q), change))
	for range maxTries {
		p.Discard()
		line, err := p.ReadLine(ctx, AskLabel)
		if err != nil {
			return permit.Answer{}, withdrawn(p, err, q.Call.Name)
		}
		word, rest, _ := strings.Cut(line, " ")
		switch word = strings.ToLower(word); {
		case word == "n" || word == "no":
			return permit.Answer{Reason: strings.TrimSpace("the user said no. " + strings.TrimSpace(rest))}, nil
		case rest != "": // only a refusal has more words
		case word == "y" || word == "yes":
			return permit.Answer{Verdict: tool.Allow}, nil
		case word == "a" && q.Plan != "":
			return permit.Answer{Verdict: tool.Allow, Mode: permit.ModeAcceptEdits}, nil
		case word == "a" && q.Allow != nil:
			return permit.Answer{Verdict: tool.Allow, Remember: true}, nil
		case word == "p" && q.Allow != nil && q.Project != "":
			keepRules(ctx, p, keep, q.Project, q.Lasting(q.Project))
			return permit.Answer{Verdict: tool.Allow, Remember: true}, nil
		case word == "g" && q.Allow != nil:
			keepRules(ctx, p, keep, "", q.Lasting(""))
			return permit.Answer{Verdict: tool.Allow, Remember: true}, nil
		case word == "e" && edits:
			answer, ok, err := edit(ctx, editor, q)
			if err != nil || ok {
				return answer, withdrawn(p, err, q.Call.Name)
			}
			continue
		}
		p.Say("Please type one of the letters above and press Enter.\n")
	}
	return permit.Answer{Reason: fmt.Sprintf("nobody answered the question with yes or no in %d tries", maxTries)}, nil
}

// withdrawn tells the person if a question ended because it needs no answer any more. Call is the
// name of the tool that it was about, or empty. It returns the error with which the question ended.
func withdrawn(p Person, err error, call string) error {
	var e *permit.Elsewhere
	switch {
	case !errors.As(err, &e):
	case e.End == permit.EndTimedOut:
		p.Say("Nobody answered in time.\n")
	case call == "":
		p.Say("Answered in the viewer.\n")
	case e.Allowed:
		p.Say("Allowed in the viewer.\n")
	default:
		p.Say("Denied in the viewer.\n")
	}
	return err
}

// keepRules keeps rules for later sessions and tells the person where.
func keepRules(ctx context.Context, p Person, keep Keep, project string, allow []string) {
	if len(allow) == 0 {
		p.Say("Not kept: the rule is about the directory of this agent, or of a work tree outside the project.\n")
		return
	}
	file, err := keep(ctx, project, allow)
	if err != nil {
		p.Say(fmt.Sprintf("attractor: the rule could not be kept, so it counts for this session only: %s\n",
			Error(err.Error())))
		return
	}
	if project != "" {
		p.Say(fmt.Sprintf("Kept in %s, for %s\n", OneLine(file), OneLine(project)))
		return
	}
	p.Say(fmt.Sprintf("Kept in %s\n", OneLine(file)))
}

// edit lets a person change the arguments of a call. It returns false if they gave up.
func edit(ctx context.Context, p Editor, q permit.Question) (permit.Answer, bool, error) {
	name, text := editable(q)
	changed, ok, err := p.Edit(ctx, editLabel, text)
	if err != nil || !ok {
		return permit.Answer{}, false, err
	}
	if name == "" {
		return permit.Answer{Verdict: tool.Allow, Args: changed}, true, nil
	}
	var args map[string]json.RawMessage
	value, err := json.Marshal(changed)
	if err == nil {
		err = json.Unmarshal([]byte(q.Call.Args), &args)
	}
	if err != nil {
		return permit.Answer{}, false, err
	}
	args[name] = value
	all, err := json.Marshal(args)
	return permit.Answer{Verdict: tool.Allow, Args: string(all)}, err == nil, err
}

// editable returns what a person changes of a call: its command with the name of that argument,
// else all arguments as JSON.
func editable(q permit.Question) (name, text string) {
	var args map[string]any
	if q.Plan != "" {
		return "plan", q.Plan
	}
	if q.Access.Command != "" && json.Unmarshal([]byte(q.Call.Args), &args) == nil {
		for _, name := range []string{"command", "cmd"} {
			if command, ok := args[name].(string); ok {
				return name, command
			}
		}
	}
	return "", q.Call.Args
}

// Reply puts a question of the model, or of the source that it names, to a person and returns the
// answer.
func Reply(ctx context.Context, p Person, q tool.Question) (tool.Answer, error) {
	release, err := p.Take(ctx)
	if err != nil {
		return tool.Answer{}, err
	}
	defer release()
	p.Say("\n" + ModelQuestion(q))
	if q.Form != nil {
		return fillForm(ctx, p, q)
	}
	p.Discard()
	line, err := p.ReadLine(ctx, AnswerLabel)
	if err != nil {
		return tool.Answer{}, withdrawn(p, err, "")
	}
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(q.Options) {
		line = q.Options[n-1]
	}
	if line == "" {
		return tool.Answer{Action: tool.ActionCancel}, nil
	}
	return tool.Answer{Text: line}, nil
}

// maxLabel limits what stands on the line on which a person types, in columns.
const maxLabel = 60

// decline is the input with which a person declines to fill in a form.
const decline = "/decline"

// fillForm asks for the fields of a form, the required ones first. The session converts the lines
// to the types of the fields.
func fillForm(ctx context.Context, p Person, q tool.Question) (tool.Answer, error) {
	var form Form
	if err := json.Unmarshal(q.Form, &form); err != nil {
		return tool.Answer{}, fmt.Errorf("cannot read the form: %w", err)
	}
	p.Say(fmt.Sprintf("  Fill in the fields. An empty line skips a field; %s declines to answer.\n", decline))
	content := map[string]string{}
	p.Discard()
	for _, name := range form.Names() {
		label := "  " + form.Label(name)
		if Width(label) > maxLabel {
			p.Say(label + "\n")
			label = " "
		}
		line, err := p.ReadLine(ctx, label+" > ")
		if err != nil {
			return tool.Answer{}, withdrawn(p, err, "")
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
