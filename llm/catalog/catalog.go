package catalog

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// builtin holds the facts that come with this version of the library, collected on 2026-11-20 from the published model lists of
// the vendors' SDKs and of other open-source clients. Prices are the vendors' list prices in US dollars per million tokens.
//
//go:embed models.json
var builtin []byte

// Catalog holds a list of models. It never changes, so it is safe for concurrent use. The zero value is empty.
type Catalog struct{ models []llm.Model }

// New returns the catalog that comes with the library.
func New() *Catalog {
	c, err := new(Catalog).Read(strings.NewReader(string(builtin)))
	if err != nil { // cannot happen: a test reads it
		return new(Catalog)
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

// With returns the catalog with models added. A model that it already has, by provider and id, is replaced as a whole and keeps
// its place. Others come first, as the newest.
func (c *Catalog) With(models ...llm.Model) *Catalog {
	merged := slices.Clone(c.models)
	var added []llm.Model
	for _, m := range models {
		if i := slices.IndexFunc(merged, func(o llm.Model) bool { return o.Provider == m.Provider && o.ID == m.ID }); i >= 0 {
			merged[i] = m
		} else {
			added = append(added, m)
		}
	}
	return &Catalog{models: append(added, merged...)}
}

// Get returns a provider's model by its id or an alias. It is an [llm.Lookup].
func (c *Catalog) Get(provider, id string) (llm.Model, bool) {
	for _, byID := range []bool{true, false} {
		for _, m := range c.models {
			if m.Provider == provider && (byID && m.ID == id || !byID && slices.Contains(m.Aliases, id)) {
				return m, true
			}
		}
	}
	return llm.Model{}, false
}

// List returns a provider's models, newest first. An empty provider means all models.
func (c *Catalog) List(provider string) []llm.Model {
	var models []llm.Model
	for _, m := range c.models {
		if provider == "" || m.Provider == provider {
			models = append(models, m)
		}
	}
	return models
}

// Latest returns a provider's newest model with all of the capabilities: reasoning, or an input modality such as image.
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
