package tool

import (
	"fmt"
	"slices"
	"sync"

	"github.com/attractor-go/attractor/llm"
)

// Registry holds the tools of one session, in the order in which they are declared to the model. It is safe for concurrent use.
type Registry struct {
	mu    sync.RWMutex
	tools []*registered
}

// registered is a tool with what Register worked out.
type registered struct {
	Tool
	schema *schema // nil for raw input
}

// NewRegistry is a registry of tools. The last one of a name wins, in the place of the first.
func NewRegistry(tools ...Tool) (*Registry, error) {
	r := new(Registry)
	for _, t := range tools {
		if err := r.Register(t); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Register adds a tool, or replaces the one of that name. An unfit tool (no name, no Run, a schema that is none) is an error
// and changes nothing.
func (r *Registry) Register(t Tool) error {
	reg := &registered{Tool: t}
	err := t.check()
	if err == nil && !t.raw() {
		reg.schema, err = t.schema()
	}
	if err != nil {
		return fmt.Errorf("tool %q: %w", t.Name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := r.index(t.Name); i >= 0 {
		r.tools[i] = reg
	} else {
		r.tools = append(r.tools, reg)
	}
	return nil
}

// Unregister removes a tool. A name that is not there is no error.
func (r *Registry) Unregister(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := r.index(name); i >= 0 {
		r.tools = slices.Delete(r.tools, i, i+1)
	}
}

// Get finds a tool by name.
func (r *Registry) Get(name string) (Tool, bool) {
	if t := r.lookup(name); t != nil {
		return t.Tool, true
	}
	return Tool{}, false
}

// Definitions is what the model is told, in order.
func (r *Registry) Definitions() []llm.ToolDefinition {
	r.mu.RLock()
	defer r.mu.RUnlock()
	defs := make([]llm.ToolDefinition, 0, len(r.tools))
	for _, t := range r.tools {
		defs = append(defs, t.ToolDefinition)
	}
	return defs
}

// Names lists the tools, in order.
func (r *Registry) Names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	names := make([]string, 0, len(r.tools))
	for _, t := range r.tools {
		names = append(names, t.Name)
	}
	return names
}

func (r *Registry) lookup(name string) *registered {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if i := r.index(name); i >= 0 {
		return r.tools[i]
	}
	return nil
}

func (r *Registry) index(name string) int {
	return slices.IndexFunc(r.tools, func(t *registered) bool { return t.Name == name })
}
