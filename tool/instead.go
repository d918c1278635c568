package tool

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
)

// Instead names tools of other agents that a tool can stand in for.
type Instead struct {
	// Of are the names of those tools. Case, hyphens and underscores are ignored.
	Of []string
	// How tells the model how to do the same with this tool, such as with a command. It is empty if
	// calling this tool is enough.
	How string
}

// unknownTool returns the refusal of a call of a tool that is not registered.
func (r *Registry) unknownTool(call llm.ToolCall) *Prepared {
	problem := fmt.Sprintf("unknown tool %q", call.Name)
	if why, gone := r.retiredWhy(call.Name); gone {
		problem = fmt.Sprintf("the tool %q %s", call.Name, why)
	} else if instead := r.instead(call.Name); instead != "" {
		problem += "; use " + instead
	} else {
		problem += ", and no other does the same"
	}
	var offered []string
	for _, def := range r.Definitions() {
		if !def.Deferred {
			offered = append(offered, def.Name)
		}
	}
	more := ""
	if deferred := len(r.Names()) - len(offered); deferred > 0 {
		more = fmt.Sprintf(" There are %d more. %s", deferred, r.howToFind())
	}
	return Refuse(call, fmt.Sprintf("Error: %s. The tools are: %s.%s", problem, strings.Join(offered, ", "), more))
}

// controlTokens matches what models write around a name that their format wants elsewhere, such as
// <|channel|>commentary.
var controlTokens = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`<\|[^|>]*\|>.*|\[[A-Z_]+\]|</?[a-z_]+>`)
})

// bareName returns a name without what models write around it: a namespace, as in functions.shell,
// and control tokens of their format.
func bareName(name string) string {
	name = strings.Trim(controlTokens().ReplaceAllString(name, ""), " \t\r\n\"'`")
	return name[strings.LastIndexAny(name, ".:/")+1:]
}

// meant returns the tool that a model means by a name that no tool has: one with something around
// it, or in another case.
func (r *Registry) meant(name string) (registered, bool) {
	name = bareName(name)
	if t, ok := r.lookup(name); ok {
		return t, true
	}
	var found []string
	for _, known := range r.Names() {
		if name != "" && texts.Folded(known) == texts.Folded(name) {
			found = append(found, known)
		}
	}
	if len(found) != 1 {
		return registered{}, false
	}
	return r.lookup(found[0])
}

// instead returns what the model can call in place of a tool that is not registered, or "".
func (r *Registry) instead(name string) string {
	known := r.Names()
	name = texts.Folded(bareName(name))
	how := "" // the advice of a tool that can do it among other things
	for _, candidate := range known {
		t, _ := r.Get(candidate)
		for _, other := range t.Instead {
			switch {
			case !slices.ContainsFunc(other.Of, func(of string) bool { return texts.Folded(of) == name }):
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
	if near := texts.Near(name, known); near != nil {
		return near[0]
	}
	return ""
}
