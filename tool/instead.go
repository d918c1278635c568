package tool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/names"
	"github.com/attractor-go/attractor/llm"
)

// Instead is a tool's part of what other tools do, under names that models know.
type Instead struct {
	// Of are the other tools' names. Case, hyphens and underscores do not count.
	Of []string
	// How tells how to do the same with this tool, such as a command; empty where calling it is all there is to it.
	How string
}

// unknownTool returns what a call of a tool that is not registered comes to.
func (r *Registry) unknownTool(call llm.ToolCall) *Prepared {
	r.mu.RLock()
	why, gone := r.retired[call.Name]
	r.mu.RUnlock()
	problem := fmt.Sprintf("unknown tool %q", call.Name)
	if gone {
		problem = fmt.Sprintf("the tool %q %s", call.Name, why)
	} else if instead := r.instead(call.Name); instead != "" {
		problem += "; use " + instead
	} else {
		problem += ", and no other does the same"
	}
	return Refuse(call, fmt.Sprintf("Error: %s. The tools are: %s.", problem, strings.Join(r.Names(), ", ")))
}

// instead returns what can be called in the place of a tool that is not registered, or "".
func (r *Registry) instead(name string) string {
	known := r.Names()
	if _, last, ok := strings.Cut(name, "."); ok { // such as functions.read_file
		name = last
	}
	name = names.Folded(name)
	how := "" // by a tool that can do more than that
	for _, candidate := range known {
		t, ok := r.lookup(candidate)
		if names.Folded(candidate) == name {
			return candidate
		}
		if !ok {
			continue
		}
		for _, other := range t.Instead {
			switch {
			case !slices.ContainsFunc(other.Of, func(of string) bool { return names.Folded(of) == name }):
			case other.How == "":
				return candidate
			case how == "":
				how = candidate + ": " + other.How
			}
		}
	}
	if how != "" {
		return how
	}
	if near := names.Near(name, known); near != nil {
		return near[0]
	}
	return ""
}
