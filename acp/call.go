package acp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/tool"
)

// The limits of what an editor gets of a call.
const (
	maxOutput  = 64 << 10               // bytes of its output
	maxLive    = 8 << 10                // bytes of its live output
	liveTime   = 500 * time.Millisecond // between two updates of that
	maxInput   = 256 << 10              // bytes of its arguments
	maxContent = 8 << 20                // bytes of an image
)

// call is a tool call that has not ended.
type call struct {
	id      string // for the editor
	seq     int64  // of its TOOL_CALL_START
	shown   callUpdate
	printed string // the end of its live output
	cut     bool   // there was more of it
	timer   *time.Timer
}

func (c *call) stop() {
	if c.timer != nil {
		c.timer.Stop()
	}
}

// callOf returns a call. known reports whether the editor has been told of it. v.mu is held.
func (v *view) callOf(by, id string) (c *call, known bool) {
	key := by + "/" + id
	if c = v.calls[key]; c != nil {
		return c, true
	}
	c = &call{id: id}
	if by != "" {
		c.id = key
	}
	if v.ids[c.id]++; v.ids[c.id] > 1 { // models and servers use ids again
		c.id += "#" + strconv.Itoa(v.ids[c.id])
	}
	v.calls[key] = c
	return c, false
}

// asked shows a call that a person is asked about, and returns its id.
func (v *view) asked(p *Permission) callUpdate {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.awaitReload()
	c, known := v.callOf(p.AgentID, p.Call.ID)
	u := v.shownCall(p.AgentID, p.Call.Name, json.RawMessage(p.Call.Args), &p.Access)
	u.ID, u.Status, u.Kind = c.id, "pending", "tool_call"
	u.Title = sanitize.Blanks(u.Title)
	for _, change := range p.Changes {
		u.Content = append(u.Content, diffsOf(change)...)
	}
	if !known {
		c.shown = u
		v.update(u)
	}
	if p.Markdown != "" {
		u.Content = append(u.Content, textContent(sanitize.Blanks(sanitize.Text(p.Markdown))))
	}
	if p.Text != "" {
		u.Content = append(u.Content, textContent(fenced(sanitize.Blanks(sanitize.Text(p.Text)))))
	}
	u.Kind, u.Status = "", ""
	return u
}

// callStarted shows a call that begins. v.mu is held.
func (v *view) callStarted(by string, e *agent.ToolCallStart) {
	v.replayed(by+"/"+e.CallID, e.Seq)
	c, known := v.callOf(by, e.CallID)
	args := e.Arguments
	if e.Effective != nil {
		args = e.Effective
	}
	u := v.shownCall(by, e.Name, args, e.Access)
	u.ID, u.Kind, u.Status = c.id, "tool_call", "in_progress"
	c.seq, c.shown = e.Seq, u
	if known {
		u.Kind = "tool_call_update"
	}
	v.update(u)
}

// callPrinted shows live output, not more often than each liveTime. v.mu is held.
func (v *view) callPrinted(by string, e *agent.ToolCallOutputDelta) {
	c := v.calls[by+"/"+e.CallID]
	if c == nil || v.replays {
		return
	}
	c.printed += e.Text
	if len(c.printed) > maxLive {
		c.printed, c.cut = lastOf(c.printed, maxLive), true
	}
	if c.timer != nil {
		return
	}
	c.timer = time.AfterFunc(liveTime, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.calls[by+"/"+e.CallID] == c {
			c.timer = nil
			v.update(callUpdate{Kind: "tool_call_update", ID: c.id, Content: []callContent{textContent(c.live())}})
		}
	})
}

// live returns the live output as it is shown.
func (c *call) live() string {
	text := sanitize.Terminal(c.printed)
	if c.cut {
		text = "…\n" + text[strings.IndexByte(text, '\n')+1:]
	}
	return fenced(text)
}

// callEnded shows the result of a call. v.mu is held.
func (v *view) callEnded(by string, e *agent.ToolCallEnd) {
	c, known := v.callOf(by, e.CallID)
	c.stop()
	delete(v.calls, by+"/"+e.CallID)
	u := callUpdate{Kind: "tool_call_update", ID: c.id, Status: "completed", Content: resultContent(e),
		Locations: changedPlaces(e.Changes), Output: outcome(e)}
	if e.IsError {
		u.Status = "failed"
	}
	if !known {
		u.Kind, u.Title, u.Name, u.ToolKind = "tool_call", titled(by, coded(oneLine(e.Name))), e.Name, "other"
	}
	v.update(u)
}

// shownCall returns what can be said about a call before it runs. v.mu is held.
func (v *view) shownCall(by, name string, args json.RawMessage, access *tool.Access) callUpdate {
	var a struct {
		Pattern  string `json:"pattern"`
		Query    string `json:"query"`
		Question string `json:"question"`
		Command  string `json:"command"`
		Path     string `json:"file_path"`
		Offset   int    `json:"offset"`
	}
	_ = json.Unmarshal(args, &a) // arguments of other tools have other members
	if access == nil {           // of a call that was refused, or that ran when the agent was killed
		access = &tool.Access{Command: a.Command}
	}
	u := callUpdate{Name: name, ToolKind: kindOf(name, access), Input: rawOf(args, maxInput)}
	for _, path := range access.Paths {
		at := location{Path: path}
		if len(access.Paths) == 1 && u.ToolKind == "read" && a.Offset > 0 {
			at.Line = a.Offset
		}
		u.Locations = append(u.Locations, at)
	}
	subject := ""
	switch {
	case access.Command != "":
		subject = access.Command
	case a.Pattern != "":
		subject = a.Pattern
	case a.Query != "":
		subject = a.Query
	case len(access.Paths) > 0:
		subject = v.relative(access.Paths)
	case len(access.Hosts) > 0:
		subject = strings.Join(access.Hosts, ", ")
	default:
		subject = cmp.Or(a.Question, a.Path)
	}
	u.Title = oneLine(name)
	if verb := map[string]string{"read": "Read", "edit": "Edit", "search": "Search", "fetch": "Fetch",
		"execute": "Run"}[u.ToolKind]; verb != "" {
		u.Title = verb
	}
	if subject != "" {
		u.Title += " " + coded(shortened(oneLine(subject), 200))
	}
	u.Title = titled(by, u.Title)
	return u
}

// relative returns the names of files, those in the working directory relative to it. v.mu is held.
func (v *view) relative(paths []string) string {
	var list []string
	for _, path := range paths {
		if below, err := filepath.Rel(v.dir, path); err == nil && filepath.IsLocal(below) {
			path = below
		}
		list = append(list, path)
	}
	return strings.Join(list, ", ")
}

// titled returns the title of a call, with the subagent whose call it is.
func titled(by, title string) string {
	if by == "" {
		return title
	}
	return oneLine(by) + ": " + title
}

// kindOf returns the protocol's kind of a call.
func kindOf(name string, a *tool.Access) string {
	switch name {
	case "exit_plan_mode", "ExitPlanMode":
		return "switch_mode"
	case "grep", "glob", "Grep", "Glob", "grep_search", "list_dir", "list_directory", "LS":
		return "search"
	case "update_plan", "TodoWrite", "write_todos", "ask_user", "request_user_input", "AskUserQuestion":
		return "think"
	}
	switch {
	case a.Command != "":
		return "execute"
	case len(a.Hosts) > 0:
		return "fetch"
	case len(a.Paths) == 0:
		return "other"
	case a.Effect == tool.ReadOnly:
		return "read"
	}
	return "edit"
}

// resultContent returns the diffs of a call, or its output.
func resultContent(e *agent.ToolCallEnd) []callContent {
	content := []callContent{}
	for _, change := range e.Changes {
		content = append(content, diffsOf(change)...)
	}
	if len(content) == 0 || e.IsError || e.Ran != nil {
		if text := cutOutput(e); text != "" {
			content = append(content, textContent(fenced(text)))
		}
	}
	for _, m := range e.Media {
		if strings.HasPrefix(m.MIME, "image/") && len(m.Data) > 0 && len(m.Data) <= maxContent {
			content = append(content, callContent{Type: "content",
				Content: &sentBlock{Type: "image", Data: m.Data, MIME: m.MIME}})
		}
	}
	return content
}

// cutOutput returns the beginning and the end of a long output.
func cutOutput(e *agent.ToolCallEnd) string {
	text := sanitize.Text(e.Output)
	if len(text) <= maxOutput {
		return text
	}
	head, tail := texts.Cut(text, maxOutput/2, ""), lastOf(text, maxOutput/2)
	return fmt.Sprintf("%s\n… %d bytes are not shown …\n%s", head, len(text)-len(head)-len(tail), tail)
}

// outcome returns what programs may want to know of a result.
func outcome(e *agent.ToolCallEnd) any {
	out := map[string]any{"isError": e.IsError, "durationMs": e.DurationMS, "bytes": e.OutputBytes}
	if r := e.Ran; r != nil && r.Exit != nil {
		out["exitCode"] = r.Exit.Code
		if r.Exit.Signal != "" {
			out["signal"] = r.Exit.Signal
		}
	}
	if structured := rawOf(e.Structured, maxOutput); structured != nil {
		out["structured"] = structured
	}
	return out
}

func textContent(text string) callContent {
	b := textBlock(text)
	return callContent{Type: "content", Content: &b}
}
