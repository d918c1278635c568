package attractor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// The limits of a prompt's commands and files.
const (
	commandTime = 2 * time.Minute // for each command
	maxIncluded = 400_000         // bytes of the files
)

// promptRun makes a message of a command. Its shell commands and files are calls of tools, which
// pass what the model's calls pass: hooks, rules, questions, the sandbox and its limits.
type promptRun struct {
	*Setup
	command  string // its name
	tools    *tool.Registry
	calls    int
	included map[string]bool
	files    llm.Parts // the contents of files
	room     int       // bytes of files that may follow
}

// fillCommand returns the message for a command with arguments: the line that a person wrote, the
// prompt, and the files that it names.
func (s *Setup) fillCommand(ctx context.Context, c *ext.Command, arguments string,
	limit time.Duration) (llm.Parts, error) {
	pieces, err := c.Fill(arguments)
	if err != nil {
		return nil, fail(ErrConfig, "the command /%s: %w", c.Name, err)
	}
	if len(c.Tools) > 0 {
		expected := slices.Clone(c.Tools)
		for i, name := range expected {
			expected[i] = nameOfTool(name, s.Options.Profile.Tools)
		}
		pieces = append(pieces, ext.Piece{Kind: ext.PieceText, Text: fmt.Sprintf(
			"\nThe author of this command expects it to use these tools: %s. That permits nothing: calls are decided "+
				"about as always.\n", shortList(expected))})
	}
	return s.runPieces(ctx, c.Name, arguments, pieces, limit)
}

// fillSkill returns the message for a skill that a person uses with arguments: the line that they
// wrote, and the skill's text.
func (s *Setup) fillSkill(ctx context.Context, skill *ext.Skill, arguments string) (llm.Parts, error) {
	pieces, err := skill.Fill(arguments)
	if err != nil {
		return nil, fail(ErrConfig, "the skill /%s: %w", skill.Name, err)
	}
	return s.runPieces(ctx, skill.Name, arguments, pieces, commandTime)
}

// runPieces returns the message of a prompt: the line that a person wrote, and the pieces with what
// their commands print and their files have.
func (s *Setup) runPieces(ctx context.Context, name, arguments string, pieces []ext.Piece,
	limit time.Duration) (llm.Parts, error) {
	tools, err := tool.NewRegistry(coding.Shell(limit), coding.ReadFile())
	if err != nil {
		return nil, err
	}
	r := &promptRun{Setup: s, command: name, tools: tools, included: map[string]bool{}, room: maxIncluded}
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\n", strings.TrimSpace("/"+name+" "+arguments))
	for _, p := range pieces {
		switch p.Kind {
		case ext.PieceText:
			text.WriteString(p.Text)
		case ext.PieceShell:
			printed, err := r.shell(ctx, p)
			if err != nil {
				return nil, err
			}
			text.WriteString(printed)
		case ext.PieceFile:
			text.WriteString(p.Written)
			if err := r.include(ctx, p.Text); err != nil {
				return nil, err
			}
		}
	}
	return append(llm.Parts{llm.Text{Text: text.String()}}, r.files...), nil
}

// shortList returns names in a line of limited length.
func shortList(list []string) string {
	const most = 50
	text := strings.Join(list[:min(len(list), most)], ", ")
	if len(list) > most {
		text += fmt.Sprintf(" and %d more", len(list)-most)
	}
	return text
}

// call runs a call as one of the model's would be run. refused is set if it was not run.
func (r *promptRun) call(ctx context.Context, name string, args any) (o *tool.Outcome, refused bool, err error) {
	text, err := json.Marshal(args)
	if err != nil {
		return nil, false, err
	}
	r.calls++
	call := llm.ToolCall{ID: fmt.Sprintf("%s-%d", r.command, r.calls), Name: name, Args: string(text)}
	c := tool.Call{Env: r.Options.Env, SessionID: r.Options.ID, Session: new(tool.Plain)}
	p, asks := r.tools.Authorize(ctx, r.tools.Prepare(call), c, r.Options.Authorize)
	if asks && r.Options.Approve != nil {
		p, asks = r.tools.Authorize(ctx, p, c, r.Options.Approve)
	}
	if asks {
		p = p.Unapproved()
	}
	if ctx.Err() != nil {
		return nil, false, context.Cause(ctx)
	}
	refused = p.Outcome != nil
	if o = p.Run(ctx, c, r.Options.Middleware, nil); ctx.Err() != nil {
		return nil, false, context.Cause(ctx)
	}
	return o, refused, nil
}

// shell returns what a command prints, and how it ended if it failed. A command that must not run
// ends the prompt.
func (r *promptRun) shell(ctx context.Context, p ext.Piece) (string, error) {
	o, refused, err := r.call(ctx, "shell", map[string]string{"command": p.Text})
	if err != nil {
		return "", err
	}
	text := o.Model.Text()
	if refused {
		return "", fail(ErrRefused, "the command /%s was not used, because it runs %s: %s", r.command, oneLine(p.Text),
			strings.TrimPrefix(text, "Error: "))
	}
	return strings.TrimSuffix(text, "\n"), nil
}

// include adds the content of a file to the message. A name without a file stays text, as in a mail
// address. A file that must not be read is left out, and the model and the person are told.
func (r *promptRun) include(ctx context.Context, name string) error {
	if r.included[name] {
		return nil
	}
	r.included[name] = true
	info, err := r.Options.Env.Stat(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil
	case err == nil && info.IsDir():
		r.files = append(r.files, llm.Text{Text: fmt.Sprintf("\n@%s is a directory.\n", texts.Shown(name))})
		return nil
	case err != nil:
		r.leaveOut(name, err.Error())
		return nil
	case r.room <= 0:
		r.leaveOut(name, fmt.Sprintf("the files of this message have more than %d bytes", maxIncluded))
		return nil
	}
	o, refused, err := r.call(ctx, "read_file", map[string]string{"file_path": name})
	if err != nil {
		return err
	}
	if refused || o.IsError {
		r.leaveOut(name, strings.TrimPrefix(o.Model.Text(), "Error: "))
		return nil
	}
	for _, part := range o.Model {
		if media, is := part.(llm.Media); is {
			r.room -= len(media.Data)
		}
	}
	r.room -= len(o.Model.Text())
	header := llm.Text{Text: fmt.Sprintf("\nThe content of %s, with the numbers of its lines:\n", texts.Shown(name))}
	r.files = append(append(r.files, header), slices.Clone(o.Model)...)
	return nil
}

// leaveOut tells the model and the person that a file is not part of the message.
func (r *promptRun) leaveOut(name, why string) {
	r.files = append(r.files, llm.Text{Text: fmt.Sprintf("\n%s is not part of this message: %s\n", texts.Shown(name),
		why)})
	r.warnings.add("commands", fmt.Sprintf("The command /%s mentions @%s, which is not part of the message: %s",
		r.command, texts.Shown(name), why))
}
