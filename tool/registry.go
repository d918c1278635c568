package tool

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/attractor-go/attractor/llm"
)

// Registry holds the tools of one session, in the order in which they are declared to the model. It is safe for concurrent use.
type Registry struct {
	mu      sync.RWMutex
	tools   []registered
	retired map[string]string // names of tools that are gone, and why
}

// registered is a tool with what Register worked out.
type registered struct {
	*Tool          // never changed
	schema *schema // nil for raw input
}

// NewRegistry is a registry of tools. The last one of a name wins, in the place of the first. It keeps the tools where they are: a
// slice that is handed over must not be changed any more, and can serve any number of registries.
func NewRegistry(tools ...Tool) (*Registry, error) {
	r := new(Registry)
	for i := range tools {
		if err := r.put(&tools[i]); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Use adds those tools of a list for which keep says so, in the way of NewRegistry.
func (r *Registry) Use(tools []Tool, keep func(*Tool) bool) error {
	for i := range tools {
		if !keep(&tools[i]) {
			continue
		}
		if err := r.put(&tools[i]); err != nil {
			return err
		}
	}
	return nil
}

// Register adds a tool, or replaces the one of that name. An unfit tool (no name, no Run, a schema that is none) is an error
// and changes nothing.
func (r *Registry) Register(t Tool) error { return r.put(&t) }

func (r *Registry) put(t *Tool) error {
	reg := registered{Tool: t}
	err := t.check()
	if err == nil && !t.raw() {
		reg.schema, err = t.schema()
	}
	if err != nil {
		return fmt.Errorf("tool %q: %w", t.Name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.retired, t.Name)
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

// Retire removes a tool and keeps why, in words that go on after its name: the error result of a call of it says so.
func (r *Registry) Retire(name, why string) {
	r.Unregister(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.retired == nil {
		r.retired = map[string]string{}
	}
	r.retired[name] = why
}

// Clone returns a registry of the same tools. A change of one does not change the other.
func (r *Registry) Clone() *Registry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return &Registry{tools: slices.Clone(r.tools), retired: maps.Clone(r.retired)}
}

// Get finds a tool by name.
func (r *Registry) Get(name string) (Tool, bool) {
	if t, ok := r.lookup(name); ok {
		return *t.Tool, true
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

func (r *Registry) lookup(name string) (t registered, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if i := r.index(name); i >= 0 {
		return r.tools[i], true
	}
	return registered{}, false
}

func (r *Registry) index(name string) int {
	return slices.IndexFunc(r.tools, func(t registered) bool { return t.Name == name })
}
