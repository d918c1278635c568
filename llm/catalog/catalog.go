package catalog

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/llm"
)

// builtin holds the facts that come with this version of the library, collected on 2026-11-20 from
// the published model lists of the vendors' SDKs and of other open-source clients. Prices are the
// vendors' list prices in US dollars per million tokens.
//
//go:embed models.json
var builtin string

// Catalog holds a list of models. It never changes, so it is safe for concurrent use. The zero
// value is empty.
type Catalog struct{ entries []*entry }

// entry holds a model of a catalog. The library's own models are decoded when somebody asks for
// them: most programs use one or two.
type entry struct {
	provider, id string
	text         string // the JSON of a model that is not decoded yet, without escape sequences

	once  sync.Once
	model llm.Model
}

// get returns the model. The caller must not change it.
func (e *entry) get() *llm.Model {
	e.once.Do(func() {
		if e.text != "" && json.Unmarshal([]byte(e.text), &e.model) != nil { // cannot happen: a test reads them all
			e.model = llm.Model{ID: e.id, Provider: e.provider}
		}
	})
	return &e.model
}

// called reports whether the model has an alias.
func (e *entry) called(alias string) bool {
	if e.text != "" && !strings.Contains(e.text, `"`+alias+`"`) {
		return false
	}
	return slices.Contains(e.get().Aliases, alias)
}

// New returns the catalog that comes with the library. Its text has a model in each line, which
// begins with the id and the provider.
func New() *Catalog {
	c := new(Catalog)
	for line := range strings.SplitSeq(builtin, "\n") {
		rest, ok := strings.CutPrefix(line, `  {"id": "`)
		if !ok {
			continue // a bracket of the array
		}
		id, rest, _ := strings.Cut(rest, `", "provider": "`)
		provider, _, _ := strings.Cut(rest, `"`)
		c.entries = append(c.entries, &entry{provider: provider, id: id, text: strings.TrimSuffix(line, ",")})
	}
	return c
}

// Read returns the catalog with the models of a JSON array of [llm.Model] added, as by With.
func (c *Catalog) Read(r io.Reader) (*Catalog, error) {
	var models []llm.Model
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&models); err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	for i, m := range models {
		if m.ID == "" || m.Provider == "" {
			return nil, fmt.Errorf("catalog: model %d needs an id and a provider", i)
		}
	}
	return c.With(models...), nil
}

// With returns the catalog with models added. A model that it already has, by provider and id, is
// replaced as a whole and keeps its place. Others come first, as the newest.
func (c *Catalog) With(models ...llm.Model) *Catalog {
	merged := slices.Clone(c.entries)
	var added []*entry
	for _, m := range models {
		e := &entry{provider: m.Provider, id: m.ID, model: m}
		if i := slices.IndexFunc(merged, func(o *entry) bool {
			return o.provider == m.Provider &&
				o.id == m.ID
		}); i >= 0 {
			merged[i] = e
		} else {
			added = append(added, e)
		}
	}
	return &Catalog{entries: append(added, merged...)}
}

// Get returns a provider's model by its id or an alias. It is an [llm.Lookup].
func (c *Catalog) Get(provider, id string) (llm.Model, bool) {
	i := slices.IndexFunc(c.entries, func(e *entry) bool { return e.provider == provider && e.id == id })
	if i < 0 {
		i = slices.IndexFunc(c.entries, func(e *entry) bool { return e.provider == provider && e.called(id) })
	}
	if i < 0 {
		return llm.Model{}, false
	}
	return *c.entries[i].get(), true
}

// List returns a provider's models, newest first. An empty provider means all models.
func (c *Catalog) List(provider string) []llm.Model {
	var models []llm.Model
	for _, e := range c.entries {
		if provider == "" || e.provider == provider {
			models = append(models, *e.get())
		}
	}
	return models
}

// Latest returns a provider's newest model with all of the capabilities: reasoning, or an input
// modality such as image.
func (c *Catalog) Latest(provider string, capabilities ...string) (llm.Model, bool) {
	for _, m := range c.List(provider) {
		if !slices.ContainsFunc(capabilities, func(need string) bool { return !has(&m, need) }) {
			return m, true
		}
	}
	return llm.Model{}, false
}

func has(m *llm.Model, capability string) bool {
	if capability == "reasoning" {
		return m.Reasoning
	}
	return slices.Contains(m.Input, capability)
}
