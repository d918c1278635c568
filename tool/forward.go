package tool

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
)

// Forwarded holds the arguments of a tool that [Tool.Forwards] calls to deferred ones.
type Forwarded struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // of that tool; missing for none
}

// forward returns the prepared call of a forwarding tool as one of the tool that its arguments
// name. The record of the call keeps the model's name for it; everybody who judges or runs it sees
// the other tool.
func (r *Registry) forward(p *Prepared) *Prepared {
	var to Forwarded
	if err := json.Unmarshal([]byte(p.Call.Args), &to); err != nil {
		return invalid(p.Call, err.Error())
	}
	t, ok := r.lookup(to.Name)
	switch {
	case !ok:
		return Refuse(p.Call, r.unknownForward(to.Name))
	case !t.Deferred:
		return Refuse(p.Call, fmt.Sprintf(
			"Error: %s is among your tools: call it by its own name, not with %s. Nothing was run.", to.Name,
			p.Call.Name))
	}
	return r.forwarded(p, llm.ToolCall{ID: p.Call.ID, Name: to.Name, Args: string(to.Arguments)})
}

// forwarded prepares the call that a forwarding tool stands for.
func (r *Registry) forwarded(outer *Prepared, call llm.ToolCall) *Prepared {
	p := r.Prepare(call)
	inner := p.Call
	p.Call, p.inner = outer.Call, &inner
	if p.ignored == "" {
		p.ignored = outer.ignored
	}
	var to Forwarded
	if p.Outcome != nil || json.Unmarshal([]byte(p.Call.Args), &to) != nil || string(to.Arguments) == inner.Args ||
		to.Arguments == nil && inner.Args == "{}" {
		return p
	}
	to.Arguments = json.RawMessage(inner.Args) // with values coerced, or edited by a hook
	if args, err := json.Marshal(to); err == nil {
		p.Call.Args = string(args)
	}
	return p
}

// asked returns the call that is judged and run: that of the deferred tool, if Call stands for one.
func (p *Prepared) asked() llm.ToolCall {
	if p.inner != nil {
		return *p.inner
	}
	return p.Call
}

// unknownForward returns the error text for the name of a deferred tool that does not exist.
func (r *Registry) unknownForward(name string) string {
	if why, gone := r.retiredWhy(name); gone {
		return fmt.Sprintf("Error: the tool %q %s.", name, why)
	}
	var known []string
	for _, def := range r.Definitions() {
		if def.Deferred {
			known = append(known, def.Name)
		}
	}
	var near []string
	if name == "" || len(name) > longestName {
		known = nil
	}
	for _, k := range known { // models leave out the beginning of a long name
		if strings.HasSuffix(texts.Folded(k), texts.Folded(name)) {
			near = append(near, k)
		}
	}
	if near == nil {
		near = texts.Near(name, known)
	}
	if len(near) == 0 {
		return fmt.Sprintf("Error: there is no tool %q. %s", name[:min(len(name), longestName)], r.howToFind())
	}
	return fmt.Sprintf("Error: there is no tool %q. Similar names are: %s.", name,
		strings.Join(near[:min(len(near), mostNear)], ", "))
}

// mostNear limits the names in an error. A name longer than longestName, in bytes, is not compared
// with others.
const mostNear, longestName = 5, 200

// howToFind returns a sentence about how to find deferred tools, if there is a tool for this.
func (r *Registry) howToFind() string {
	for _, def := range r.Definitions() {
		if def.Finds && !def.Deferred {
			return "Call " + def.Name + " to find tools."
		}
	}
	return "Call a tool that you have."
}
