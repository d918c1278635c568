package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/tool"
)

// call appends a line for a tool call: the tool, its subject, the outcome and the duration.
func (s *Session) call(e *agent.ToolCallEnd) {
	s.calls++
	name, subject := e.Name, ""
	if start := s.running[e.CallID]; start != nil {
		ran := start.Arguments
		if start.Effective != nil {
			ran = start.Effective
		}
		name, ran = forwarded(name, ran)
		subject = Subject(ran)
		delete(s.running, e.CallID)
	}
	if len(e.Changes) > 0 {
		subject = Shorten(s.changed(e.Changes), maxSubject)
	}
	mark, outcome := piece{"✓", good}, piece{commandOutcome(e.Ran), faint}
	if e.IsError {
		mark, outcome.look = piece{"✗", bad}, bad
		outcome.text = Shorten(cmp.Or(outcome.text, lastLine(e.Output)), maxSubject)
	}
	line := []piece{mark, {" ", 0}, {OneLine(name), strong}, {" " + subject, 0}}
	if outcome.text != "" {
		line = append(line, piece{" · ", 0}, outcome)
	}
	s.words(append(line, piece{" ", 0}, piece{took(e.DurationMS), faint})...)
	if s.style.Rich {
		s.diffs(e.Changes)
	}
	s.output(e, strings.TrimSpace(OneLine(name)+" "+subject))
}

// forwarded returns the tool and the arguments that a call of tool_call stands for, and those of
// any other call as they are.
func forwarded(name string, args json.RawMessage) (string, json.RawMessage) {
	var to tool.Forwarded
	if name != mcp.CallTool || json.Unmarshal(args, &to) != nil || to.Name == "" {
		return name, args
	}
	return to.Name, to.Arguments
}

// maxSubject limits the characters of each text in the line of a call.
const maxSubject = 100

// changed lists the files that a call changed.
func (s *Session) changed(changes []tool.Change) string {
	var files []string
	for _, c := range changes {
		file := OneLine(relative(s.dir, c.Path))
		switch c.Kind {
		case tool.Created, tool.Deleted:
			file += fmt.Sprintf(" (%s)", c.Kind)
		case tool.Moved:
			file = OneLine(relative(s.dir, c.From)) + " → " + file
		}
		files = append(files, file)
	}
	return strings.Join(files, ", ")
}

// relative returns the name of a file relative to a directory if it is in there, else the name as
// it is.
func relative(dir, name string) string {
	if below, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(below) {
		return below
	}
	return name
}

// realName returns a directory's name without symbolic links. A directory that is not on this
// machine keeps its name.
func realName(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// Outcome describes in a few words how a command ended. It returns nothing for a success.
func Outcome(r *tool.Ran) string { return OneLine(commandOutcome(r)) }

// commandOutcome describes in a few words how a command ended. It returns nothing for a success.
func commandOutcome(r *tool.Ran) string {
	switch {
	case r == nil:
		return ""
	case r.Interrupted:
		return "interrupted"
	case r.Err != "":
		return r.Err
	case r.TimedOut != 0:
		return fmt.Sprintf("timed out after %v", Rounded(r.TimedOut))
	case r.Running():
		return "running as " + r.ID
	case len(r.Exit.Limits) > 0:
		return "reached its limit: " + strings.Join(r.Exit.Limits, ", ")
	case r.Exit.Signal != "":
		return "killed by " + r.Exit.Signal
	case r.Exit.Code != 0:
		return fmt.Sprintf("exit code %d", r.Exit.Code)
	case len(r.Exit.Left) > 0:
		return Shorten("left running: "+strings.Join(r.Exit.Left, ", "), maxSubject)
	}
	return ""
}

// Subject returns the most important argument of a call, such as the command, the file, the pattern
// or the page; else all arguments.
func Subject(arguments json.RawMessage) string {
	var args map[string]any
	if json.Unmarshal(arguments, &args) == nil {
		for _, name := range []string{"command", "cmd", "file_path", "pattern", "path", "url", "question", "plan",
			"_raw"} {
			if text, ok := args[name].(string); ok {
				return Shorten(text, maxSubject)
			}
		}
	}
	return Shorten(string(arguments), maxSubject)
}
