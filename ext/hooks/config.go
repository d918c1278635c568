package hooks

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/internal/texts"
)

// Event names a moment at which hooks run.
type Event string

// The events.
const (
	SessionStart       Event = "SessionStart"
	UserPromptSubmit   Event = "UserPromptSubmit"
	PreToolUse         Event = "PreToolUse"
	PermissionRequest  Event = "PermissionRequest"
	PostToolUse        Event = "PostToolUse"
	PostToolUseFailure Event = "PostToolUseFailure"
	Stop               Event = "Stop"
	SubagentStart      Event = "SubagentStart"
	SubagentStop       Event = "SubagentStop"
	PreCompact         Event = "PreCompact"
	Notification       Event = "Notification"
	SessionEnd         Event = "SessionEnd"
)

// Events returns all events, in the order in which a session has them.
func Events() []Event {
	return []Event{SessionStart, UserPromptSubmit, PreToolUse, PermissionRequest, PostToolUse, PostToolUseFailure,
		Notification, SubagentStart, SubagentStop, Stop, PreCompact, SessionEnd}
}

// guards reports whether hooks of an event can prevent something.
func (e Event) guards() bool {
	switch e {
	case PreToolUse, PermissionRequest, UserPromptSubmit, Stop, SubagentStop, PreCompact:
		return true
	}
	return false
}

// aboutCalls reports whether an event is about a tool call.
func (e Event) aboutCalls() bool {
	return e == PreToolUse || e == PermissionRequest || e == PostToolUse || e == PostToolUseFailure
}

// The times that hooks have if they set none.
const (
	defaultTimeout = 60 * time.Second
	promptTimeout  = 30 * time.Second // a person waits
	endTimeout     = 10 * time.Second // the program waits to exit
	maxEndTimeout  = 60 * time.Second
)

// Hook holds a command and the event for which it runs.
type Hook struct {
	Event Event
	// Matcher chooses the tools, or what else the event is about, as the file has it.
	Matcher string
	// If is a permission rule. The hook runs only for tool calls that it is about. Empty means all.
	If string
	// Command is a script for the shell. With Args, which then is not nil, it is a program.
	Command string
	Args    []string
	Timeout time.Duration
	// Async lets the session go on while the command runs.
	Async bool
	// Block makes a failure of the command block what the event is about.
	Block bool

	File   string
	Line   int
	Origin ext.Origin

	match matcher
}

// String returns the command on one line.
func (h *Hook) String() string {
	return texts.Shown(strings.Join(strings.Fields(strings.Join(append([]string{h.Command}, h.Args...), " ")), " "))
}

// Parsed holds what a file says.
type Parsed struct {
	Hooks []Hook
	// Mistakes lists what is wrong in the file, and what of it has no effect.
	Mistakes []ext.Mistake
	// Lost lists the mistakes because of which a hook that could prevent something is not used.
	Lost []ext.Mistake
	// Disabled reports that the file turns hooks off: all of them in a file of the user's, and the
	// project's in a file of the project.
	Disabled bool
}

// maxHooks limits the hooks of a file.
const maxHooks = 500

// Parse reads a file of hooks: {"hooks": {EVENT: [{"matcher": "...", "hooks": [{"type": "command",
// "command": "..."}]}]}}. In a file whose name begins with settings it ignores all other members.
func Parse(f ext.File) Parsed {
	p := &parser{file: &f}
	if len(f.Data) > ext.MaxFile {
		p.lose(0, "the file has more than %d MiB, so its hooks are not used", ext.MaxFile>>20)
		return p.Parsed
	}
	root, err := texts.ReadJSON(f.Data)
	switch {
	case err != nil:
		p.lose(0, "%v. None of its hooks are used", err)
	case root.Kind != texts.Object:
		p.lose(root.Line, `the file must be an object such as {"hooks": {...}}, not %s`, root.Is())
	default:
		p.root(&root)
	}
	return p.Parsed
}

// parser reads one file.
type parser struct {
	file *ext.File
	Parsed
}

func (p *parser) mistake(line int, format string, args ...any) {
	p.Mistakes = append(p.Mistakes, ext.Mistake{File: p.file.Name, Line: line, Text: fmt.Sprintf(format, args...)})
}

// lose notes a mistake because of which hooks that could prevent something are not used.
func (p *parser) lose(line int, format string, args ...any) {
	p.mistake(line, format, args...)
	p.Lost = append(p.Lost, p.Mistakes[len(p.Mistakes)-1])
}

// drop notes a mistake because of which a hook of an event is not used.
func (p *parser) drop(event Event, line int, format string, args ...any) {
	p.mistake(line, format+", so the hook is not used", args...)
	if event.guards() {
		p.Lost = append(p.Lost, p.Mistakes[len(p.Mistakes)-1])
	}
}

func (p *parser) root(root *texts.JSON) {
	settings := strings.HasPrefix(path.Base(filepath.ToSlash(p.file.Name)), "settings")
	for i := range root.Members {
		switch m := &root.Members[i]; {
		case m.Name == "hooks" && m.Kind == texts.Object:
			p.events(m)
		case m.Name == "hooks":
			p.lose(m.Line, `hooks must be an object such as {"PreToolUse": [...]}, not %s`, m.Is())
		case m.Name == "disableAllHooks":
			p.Disabled = p.Disabled || m.Value == true
		case slices.Contains(Events(), Event(m.Name)) && !settings:
			p.lose(m.Line, `%s must stand inside of hooks: {"hooks": {"%s": [...]}}`, m.Name, m.Name)
		case !settings && m.Name != "description" && m.Name != "$schema" && m.Name != "version":
			p.mistake(m.Line, "%s is not known, so it has no effect; the file has the member hooks",
				texts.Shown(m.Name))
		}
	}
}

// events reads the member hooks.
func (p *parser) events(hooks *texts.Member) {
	for i := range hooks.Members {
		m := &hooks.Members[i]
		event := Event(m.Name)
		if !slices.Contains(Events(), event) {
			p.unknownEvent(m)
			continue
		}
		if m.Kind != texts.Array {
			p.drop(event, m.Line, `%s must be an array such as [{"matcher": "Bash", "hooks": [...]}], not %s`, m.Name,
				m.Is())
			continue
		}
		for j := range m.Items {
			p.group(event, &m.Items[j])
		}
	}
}

// unknownEvent tells of an event that no hook is run for.
func (p *parser) unknownEvent(m *texts.Member) {
	var all []string
	for _, e := range Events() {
		if all = append(all, string(e)); strings.EqualFold(m.Name, string(e)) {
			p.drop(e, m.Line, "the event %s must be written %s", texts.Shown(m.Name), e)
			return
		}
	}
	hint := "supported are " + strings.Join(all, ", ")
	if near := texts.Near(m.Name, all); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	p.mistake(m.Line, "there is no event %s here, so its hooks are not used; %s", texts.Shown(m.Name), hint)
}

// group reads a matcher and its hooks.
func (p *parser) group(event Event, n *texts.JSON) {
	if n.Kind != texts.Object {
		p.drop(event, n.Line, `%s must have objects such as {"matcher": "Bash", "hooks": [...]}, not %s`, event, n.Is())
		return
	}
	text, list := "", (*texts.Member)(nil)
	for i := range n.Members {
		switch m := &n.Members[i]; m.Name {
		case "matcher":
			value, ok := m.Value.(string)
			if !ok && (m.Kind != texts.Scalar || m.Value != nil) {
				p.drop(event, m.Line, `matcher must be a string such as "Bash|Edit", not %s`, m.Is())
				return
			}
			text = value
		case "hooks":
			list = m
		case "type", "command":
			p.drop(event, m.Line, `%s must stand inside of hooks: {"matcher": "...", "hooks": [{"type": "command", "command": "..."}]}`, m.Name)
			return
		case "description":
		default:
			p.mistake(m.Line, "%s is not known, so it has no effect; supported are matcher and hooks",
				texts.Shown(m.Name))
		}
	}
	if list == nil || list.Kind != texts.Array {
		p.drop(event, n.Line, `the member hooks must be an array such as [{"type": "command", "command": "..."}]`)
		return
	}
	match, err := newMatcher(text, event)
	if err != nil {
		p.drop(event, n.Line, "the matcher %s: %v", texts.Shown(text), err)
		return
	}
	if hint := match.suspicious(); hint != "" {
		p.mistake(n.Line, "%s", hint)
	}
	for i := range list.Items {
		p.hook(Hook{Event: event, Matcher: text, match: match}, &list.Items[i])
	}
}

// hook reads one hook.
func (p *parser) hook(h Hook, n *texts.JSON) {
	if n.Kind != texts.Object {
		p.drop(h.Event, n.Line, `a hook must be an object such as {"type": "command", "command": "..."}, not %s`,
			n.Is())
		return
	}
	h.File, h.Line, h.Origin, h.Timeout = p.file.Name, n.Line, p.file.Origin, defaultTimeout
	switch h.Event {
	case UserPromptSubmit:
		h.Timeout = promptTimeout
	case SessionEnd:
		h.Timeout = endTimeout
	}
	usable := true
	for i := range n.Members {
		if m := &n.Members[i]; m.Name == "type" && m.Value != "command" {
			what, ok := m.Value.(string)
			if !ok {
				what = m.Is()
			}
			p.drop(h.Event, n.Line, "hooks of the type %s are not supported, only those of the type command",
				texts.Shown(what))
			return
		}
	}
	for i := range n.Members {
		usable = p.field(&h, &n.Members[i]) && usable
	}
	switch {
	case !usable:
	case strings.TrimSpace(h.Command) == "":
		p.drop(h.Event, n.Line, "the hook has no command")
	case len(p.Hooks) == maxHooks:
		p.drop(h.Event, n.Line, "there are more than %d hooks", maxHooks)
	default:
		if h.Async && h.Block {
			p.mistake(n.Line, "a hook with async cannot block, so onFailure has no effect")
			h.Block = false
		}
		p.Hooks = append(p.Hooks, h)
	}
}

// field reads a member of a hook. It reports whether the hook can be used.
func (p *parser) field(h *Hook, m *texts.Member) bool {
	var text string
	var on bool
	target := map[string]any{"command": &h.Command, "if": &h.If, "async": &on, "asyncRewake": &on, "args": &h.Args,
		"onFailure": &text, "shell": &text}[m.Name]
	noText := func(item texts.JSON) bool { return item.Value == nil } // null would be decoded as a string
	wrong := string(m.Raw) == "null" || json.Unmarshal(m.Raw, target) != nil || slices.ContainsFunc(m.Items, noText)
	switch {
	case target == nil || !wrong:
	case m.Name == "args":
		p.drop(h.Event, m.Line, `args must be an array of strings such as ["-v"]`)
		return false
	default:
		p.drop(h.Event, m.Line, "%s must not be %s", m.Name, m.Is())
		return false
	}
	h.Async = h.Async || on
	switch {
	case m.Name == "if" && h.If != "" && !h.Event.aboutCalls():
		p.drop(h.Event, m.Line, "if is about tool calls, and %s is about none", h.Event)
		return false
	case m.Name == "asyncRewake" && on:
		p.mistake(m.Line, "asyncRewake is not supported; the hook runs as with async, and its exit code 2 wakes nobody")
	case m.Name == "timeout":
		return p.timeout(h, m)
	case m.Name == "onFailure" && !slices.Contains([]string{"block", "allow", "continue", "ignore"}, text):
		p.drop(h.Event, m.Line, `onFailure must be "block" or "continue"`)
		return false
	case m.Name == "onFailure":
		if h.Block = text == "block"; h.Block && !h.Event.guards() {
			p.mistake(m.Line, "onFailure has no effect on %s, whose hooks can prevent nothing", h.Event)
		}
	case m.Name == "shell" && text != "bash" && text != "sh":
		p.drop(h.Event, m.Line, `the shell must be "bash"`)
		return false
	case m.Name == "once":
		p.mistake(m.Line, "once is not supported; the hook runs each time")
	case target == nil && !slices.Contains([]string{"type", "statusMessage", "description", "name", "id"}, m.Name):
		p.mistake(m.Line, "%s is not known, so it has no effect; supported are type, command, args, timeout, async, "+
			"if and onFailure", texts.Shown(m.Name))
	}
	return true
}

// timeout reads the seconds that a hook may take.
func (p *parser) timeout(h *Hook, m *texts.Member) bool {
	number, _ := m.Value.(json.Number)
	seconds, err := number.Float64()
	if err != nil || seconds <= 0 {
		p.drop(h.Event, m.Line, "timeout must be a number of seconds above 0, not %s", m.Is())
		return false
	}
	most := env.MaxTimeout.Seconds()
	if h.Event == SessionEnd {
		most = maxEndTimeout.Seconds()
	}
	if seconds > most {
		p.mistake(m.Line, "timeout is in seconds and at most %.0f, so the hook has that many", most)
		seconds = most
	}
	h.Timeout = max(time.Duration(seconds*float64(time.Second)), time.Millisecond)
	return true
}
