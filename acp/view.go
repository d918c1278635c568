package acp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/tool"
)

// view turns the events of a session into updates, in order. Its methods are safe for concurrent
// use.
type view struct {
	notices, forms bool // the editor shows these
	send           func(update any)

	mu      sync.Mutex
	live    bool  // updates are sent
	held    []any // until then
	host    *Session
	replays bool
	titled  bool
	dir     string // the working directory
	step    int
	used    int // of the model's window, at last
	texts   int // of the messages that have no number
	cost    float64
	calls   map[string]*call // that have not ended, by their ids for the session
	ids     map[string]int   // how often the editor has got an id
	drafts  []draft          // of the answer that is coming
	reload  *reload          // while the history is shown again
	// repeated is the number of the last event of a history that was shown again.
	repeated int64
	resumed  sync.Cond // on mu: reload has become nil
}

// maxHeld limits the updates that wait until the editor knows the session.
const maxHeld = 1000

func newView(client *initializeParams, send func(any)) *view {
	v := &view{send: send, calls: map[string]*call{}, ids: map[string]int{}}
	v.resumed.L = &v.mu
	v.notices = client.Capabilities.Session != nil && client.Capabilities.Session.Notices != nil
	v.forms = client.Capabilities.Elicitation != nil && client.Capabilities.Elicitation.Form != nil
	return v
}

// begin tells the view its session.
func (v *view) begin(host *Session) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.host, v.cost = host, host.CostUSD
}

// open sends what was held.
func (v *view) open() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.live = true
	for _, u := range v.held {
		v.send(u)
	}
	v.held = nil
}

// replaying says whether events of the past come.
func (v *view) replaying(now bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.replays && !now {
		v.tellUsage()
	}
	v.replays = now
}

// close ends what the view waits for.
func (v *view) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.calls {
		c.stop()
	}
	clear(v.calls)
}

// update sends an update. v.mu is held.
func (v *view) update(u any) {
	switch {
	case v.live || v.replays:
		v.send(u)
	case len(v.held) < maxHeld:
		v.held = append(v.held, u)
	}
}

// text sends a piece of a message. v.mu is held.
func (v *view) text(kind, text, message string) {
	if text != "" {
		v.update(textUpdate{kind, textBlock(text), message})
	}
}

// The kinds of texts.
const (
	userChunk    = "user_message_chunk"
	messageChunk = "agent_message_chunk"
	thoughtChunk = "agent_thought_chunk"
)

// say sends a message of the host itself. v.mu is held.
func (v *view) say(text string) {
	v.texts++
	v.text(messageChunk, text, "host-"+strconv.Itoa(v.texts))
}

// notice tells the person something. v.mu is held.
func (v *view) notice(severity, text string) {
	text = strings.TrimSpace(sanitize.Text(text))
	title, about, _ := strings.Cut(text, "\n")
	if !v.notices {
		label := map[string]string{"warning": "Warning: ", "error": "Error: "}[severity]
		v.say("\n\n" + label + text + "\n\n")
		return
	}
	v.update(members{"sessionUpdate": "notice", "severity": severity, "title": title,
		"description": strings.TrimSpace(about)})
}

// title makes the first prompt the title of the session. v.mu is held.
func (v *view) title(text string) {
	text = shortened(oneLine(text), 80)
	if v.titled || text == "" {
		return
	}
	v.titled = true
	v.update(members{"sessionUpdate": "session_info_update", "title": text})
}

// event shows an event. past says that it comes from the journal: then what the person wrote is
// shown as well.
func (v *view) event(ev agent.Event, past bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.repeats(ev, past) {
		return
	}
	if v.replays != past { // an event of the present, while the past is shown
		v.replays = past
		defer func() { v.replays = !past }()
	}
	switch e := ev.(type) {
	case *agent.UserInput:
		v.title(e.Text)
		if past { // otherwise the editor shows it itself
			v.text(userChunk, e.Text, fmt.Sprintf("user-%d", e.Seq))
		}
	case *agent.SteeringInjected:
		if past && e.Source == "host" {
			v.text(userChunk, e.Text, fmt.Sprintf("user-%d", e.Seq))
		}
	case *agent.SessionStart:
		v.dir = e.Dir
	case *agent.StepStart:
		v.step = e.Step
		if !past { // another answer begins
			v.drafts = nil
		}
	case *agent.AssistantTextDelta:
		v.draft(draft{messageChunk, fmt.Sprintf("answer-%d-%d", v.step, e.Block), e.Seq, nil}, e.Text, past)
	case *agent.AssistantTextEnd:
		if e.Discarded {
			if !past {
				v.drafts = nil
			}
			v.say("\n\n(The answer broke off and begins again.)\n\n")
		} else if len(e.Sources) > 0 {
			v.notice("info", sourcesText(e.Sources))
		}
	case *agent.ThinkingDelta:
		v.draft(draft{thoughtChunk, fmt.Sprintf("thought-%d", v.step), e.Seq, nil}, e.Text, past)
	case *agent.ToolCallStart:
		v.callStarted("", e)
	case *agent.ToolCallOutputDelta:
		v.callPrinted("", e)
	case *agent.ToolCallEnd:
		v.callEnded("", e)
	case *agent.SubagentEvent:
		v.subagent(e)
	case *agent.PlanUpdated:
		v.plan(e.Plan)
	case *agent.StepEnd:
		v.stepEnded(e.Usage, past)
	case *agent.ProcessingEnd:
		v.ended(e, past)
	default:
		v.told(ev, past)
	}
}

// told shows an event that tells the person something. v.mu is held.
func (v *view) told(ev agent.Event, past bool) {
	switch e := ev.(type) {
	case *agent.InputRequested:
		if !v.forms || past {
			v.say(questionText(tool.Question{Text: e.Question, Options: e.Options, Form: e.Form, Source: e.Source,
				Problem: e.Problem}))
		}
	case *agent.Compaction:
		v.notice("info", fmt.Sprintf("The beginning of the conversation was summarized for the model: %d turns.",
			e.TurnsReplaced))
	case *agent.WebSearch:
		v.notice("info", searchText(&e.WebSearch))
	case *agent.Warning:
		v.notice("warning", e.Text)
	case *agent.LLMRetry:
		v.notice("info", fmt.Sprintf("The model could not be reached (%s); the next attempt is in %v.", oneLine(e.Text),
			(time.Duration(e.DelayMS)*time.Millisecond).Round(100*time.Millisecond)))
	case *agent.ModelChanged:
		v.notice("info", fmt.Sprintf("The model is now %s.", oneLine(e.To.String())))
	case *agent.Error:
		if past { // otherwise it is the error of the prompt
			v.notice("error", e.Text)
		}
	}
}

// plan shows the todo list. v.mu is held.
func (v *view) plan(p tool.Plan) {
	entries := []members{}
	for _, item := range p.Items {
		status := string(item.Status)
		if !slices.Contains([]string{"pending", "in_progress", "completed"}, status) {
			status = "pending"
		}
		entries = append(entries, members{"content": sanitize.Text(item.Text), "priority": "medium", "status": status})
	}
	v.update(members{"sessionUpdate": "plan", "entries": entries})
}

// stepEnded shows how full the model's window is. v.mu is held.
func (v *view) stepEnded(u llm.Usage, past bool) {
	if n := u.Input + u.Output; n > 0 && u.Searches == 0 { // else it is a sum of several rounds
		v.used = n
	}
	if !past { // of the past only the last one matters
		v.tellUsage()
	}
}

// tellUsage sends the last usage. v.mu is held.
func (v *view) tellUsage() {
	if v.used == 0 || v.host == nil || v.host.Agent == nil {
		return
	}
	size := v.host.Agent.Policy().Window
	if size <= 0 {
		return
	}
	sent := members{"sessionUpdate": "usage_update", "used": v.used, "size": size}
	if v.cost > 0 {
		sent["cost"] = members{"amount": v.cost, "currency": "USD"}
	}
	v.update(sent)
}

// ended shows how an input ended. v.mu is held.
func (v *view) ended(e *agent.ProcessingEnd, past bool) {
	switch {
	case e.Reason.Limit():
		v.notice("warning", fmt.Sprintf("Stopped at the limit %s; the task may be unfinished. The next prompt goes on.",
			e.Reason))
	case e.Reason == agent.ReasonIncomplete:
		v.notice("warning", "The model's last answer was cut off or empty, so the task may be unfinished.")
	}
	if past || e.CostUSD == 0 { // Session.CostUSD has the past
		return
	}
	v.cost += e.CostUSD
	v.tellUsage()
}

// subagent shows the tool calls of a subagent. v.mu is held.
func (v *view) subagent(e *agent.SubagentEvent) {
	switch inner := e.Event.(type) {
	case *agent.ToolCallStart:
		v.callStarted(e.AgentID, inner)
	case *agent.ToolCallOutputDelta:
		v.callPrinted(e.AgentID, inner)
	case *agent.ToolCallEnd:
		v.callEnded(e.AgentID, inner)
	case *agent.SubagentEvent:
		v.subagent(&agent.SubagentEvent{AgentID: e.AgentID + "/" + inner.AgentID, Event: inner.Event})
	}
}
