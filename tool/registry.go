package tool

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/attractor-go/attractor/llm"
)

// Registry holds the tools of a session, in the order in which they are declared to the model. It
// is safe for concurrent use.
type Registry struct {
	mu      sync.RWMutex
	tools   []registered
	retired map[string]string // why a tool was removed, by its name
}

// registered holds a tool with its schema.
type registered struct {
	*Tool            // never changed
	schema *compiled // nil for a tool with a Grammar
}

// NewRegistry returns a registry of tools. If several have one name, the last takes the place of
// the first. The registry keeps a reference to the slice, which must not change afterwards and may
// be shared by any number of registries.
func NewRegistry(tools ...Tool) (*Registry, error) {
	r := new(Registry)
	if err := r.Use(tools, func(*Tool) bool { return true }); err != nil {
		return nil, err
	}
	return r, nil
}

// Use adds the tools for which keep returns true, as NewRegistry does.
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

// Register adds a tool, or replaces the tool of that name. It fails and changes nothing if the tool
// has no name, no Run or no valid schema.
func (r *Registry) Register(t Tool) error { return r.put(&t) }

// put adds a tool, or replaces the tool of that name, and keeps the pointer.
func (r *Registry) put(t *Tool) error {
	reg := registered{Tool: t}
	err := t.check()
	if err == nil && t.Grammar == nil {
		reg.schema, err = t.compile()
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

// Unregister removes a tool. An unknown name is not an error.
func (r *Registry) Unregister(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(name)
}

// remove removes a tool. The caller holds the lock.
func (r *Registry) remove(name string) {
	if i := r.index(name); i >= 0 {
		r.tools = slices.Delete(r.tools, i, i+1)
	}
}

// Retire removes a tool. Later calls of it get an error result that says why; the words continue a
// sentence that begins with the tool's name.
func (r *Registry) Retire(name, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(name)
	if r.retired == nil {
		r.retired = map[string]string{}
	}
	r.retired[name] = why
}

// retiredWhy returns why a tool was removed, and reports whether it was retired.
func (r *Registry) retiredWhy(name string) (why string, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	why, ok = r.retired[name]
	return why, ok
}

// Clone returns a registry with the same tools. Changes of one do not affect the other.
func (r *Registry) Clone() *Registry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return &Registry{tools: slices.Clone(r.tools), retired: maps.Clone(r.retired)}
}

// Get returns the tool of that name.
func (r *Registry) Get(name string) (Tool, bool) {
	if t, ok := r.lookup(name); ok {
		return *t.Tool, true
	}
	return Tool{}, false
}

// Definitions returns the definitions for the model, in order.
func (r *Registry) Definitions() []llm.ToolDefinition {
	r.mu.RLock()
	defer r.mu.RUnlock()
	defs := make([]llm.ToolDefinition, 0, len(r.tools))
	for _, t := range r.tools {
		defs = append(defs, t.ToolDefinition)
	}
	return defs
}

// Names returns the names of the tools, in order.
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
