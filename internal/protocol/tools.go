package protocol

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/conversation"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// maxTools limits the tools that a program brings. Models choose badly among more.
const maxTools = 128

// KindToolRequested is the kind of a [ToolRequested].
const KindToolRequested agent.Kind = "TOOL_REQUESTED"

// ToolRequested asks the program to run a call of a tool that it has brought. The call is
// permitted. It ends with an [AskEnded].
type ToolRequested struct {
	agent.EventHeader
	ID        string          `json:"ask"`
	CallID    string          `json:"call_id"`
	AgentID   string          `json:"agent_id,omitempty"` // of the subagent that made the call
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// toolDefinition is a tool as tools has it.
type toolDefinition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	ReadOnly    bool            `json:"read_only"`
}

// checkTools returns an error for definitions that no model can have.
func (in *input) checkTools() error {
	if in.Tools == nil {
		return errors.New("tools needs tools, a list of objects with name, description and parameters; an empty one " +
			"takes all away")
	}
	if len(*in.Tools) > maxTools {
		return fmt.Errorf("tools has %d tools; the most are %d", len(*in.Tools), maxTools)
	}
	names, valid := map[string]bool{}, regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	for i, t := range *in.Tools {
		switch {
		case !valid.MatchString(t.Name):
			return fmt.Errorf("tools[%d]: name must have 1 to 64 letters, digits, _ and -, not %q", i,
				shortened(t.Name))
		case names[t.Name]:
			return fmt.Errorf("tools[%d]: there are two tools with the name %s", i, t.Name)
		case len(t.Parameters) > 0 && t.Parameters[0] != '{':
			return fmt.Errorf("tools[%d]: parameters must be a JSON Schema, which is an object", i)
		case t.Description == "":
			return fmt.Errorf("tools[%d]: %s needs a description, by which the model chooses it", i, t.Name)
		}
		names[t.Name] = true
	}
	return nil
}

// programTools holds the tools of the program, and the calls that it has to run.
type programTools struct {
	tell  func(attractor.Event)
	names []string // of the tools that the session has now; for offer alone

	mu     sync.Mutex
	calls  map[string]chan tool.Result
	closed string // why no call can be run any more; "" as long as it can
}

// offer replaces the program's tools. Only one call may be made at a time.
func (p *programTools) offer(ctx context.Context, session *agent.Session, wanted []toolDefinition) error {
	gone := slices.Clone(p.names)
	var tools []tool.Tool
	var names []string
	for _, t := range wanted {
		same := func(other tool.Tool) bool { return other.Name == t.Name }
		if !slices.Contains(gone, t.Name) && slices.ContainsFunc(session.Tools(), same) {
			return fmt.Errorf("the session has a tool %s of its own; give yours another name", t.Name)
		}
		effect := tool.Exclusive
		if t.ReadOnly {
			effect = tool.ReadOnly
		}
		if t.Parameters == nil {
			t.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		names = append(names, t.Name)
		tools = append(tools, tool.Tool{
			ToolDefinition: llm.ToolDefinition{Name: t.Name, Description: t.Description, Parameters: t.Parameters},
			Access:         func(string) (tool.Access, error) { return tool.Access{Effect: effect}, nil },
			Run:            p.run,
		})
	}
	gone = slices.DeleteFunc(gone, func(name string) bool { return slices.Contains(names, name) })
	if err := session.ReplaceTools(ctx, gone, tools...); err != nil {
		return err
	}
	p.names = names
	return nil
}

// run asks the program to run a call, and waits for its result.
func (p *programTools) run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	id, result := "tool-"+rand.Text(), make(chan tool.Result, 1)
	p.mu.Lock()
	if p.closed != "" {
		p.mu.Unlock()
		return tool.Result{}, fmt.Errorf("the program that runs %s cannot be asked: %s", call.Name, p.closed)
	}
	p.calls[id] = result
	p.tell(&ToolRequested{EventHeader: agent.EventHeader{Kind: KindToolRequested}, ID: id, CallID: call.ID,
		AgentID: call.AgentID, Tool: call.Name, Arguments: conversation.Arguments(call.Args)})
	p.mu.Unlock()
	select {
	case r, ok := <-result:
		if !ok {
			return tool.Result{}, fmt.Errorf("the program that runs %s has not answered, and cannot any more",
				call.Name)
		}
		return r, nil
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		p.end(id, permit.EndCancelled)
		return tool.Result{}, context.Cause(ctx)
	}
}

// end forgets a call. p.mu is held.
func (p *programTools) end(id string, how permit.End) {
	if _, open := p.calls[id]; open {
		delete(p.calls, id)
		p.tell(&AskEnded{EventHeader: agent.EventHeader{Kind: KindAskEnded}, ID: id, End: how})
	}
}

// result gives a call its result.
func (p *programTools) result(in *input) error {
	parts, err := in.media()
	if err != nil {
		return err
	}
	r := tool.Result{IsError: in.IsError}
	if in.Text != "" || len(parts) == 0 {
		r.Content = append(r.Content, llm.Text{Text: in.Text})
	}
	r.Content = append(r.Content, parts...)
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting, open := p.calls[in.Ask]
	if !open {
		return fmt.Errorf("there is no call %q that waits for a result", shortened(in.Ask))
	}
	waiting <- r
	p.end(in.Ask, permit.EndAnswered)
	return nil
}

// close ends the calls that wait, and fails later ones.
func (p *programTools) close(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed == "" {
		p.closed = why
	}
	for _, id := range slices.Sorted(maps.Keys(p.calls)) {
		close(p.calls[id])
		p.end(id, permit.EndCancelled)
	}
}
