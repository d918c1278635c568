package catalog

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/llm"
)

// builtin holds the facts that come with this version of the library, a file a provider: those of
// Anthropic, OpenAI and Google as collected on 2026-11-20, the others as of 2026-11-28, from the
// published model lists of the vendors' SDKs and of other open-source clients. Prices are list
// prices in US dollars per million tokens.
//
//go:embed models
var builtin embed.FS

// Catalog holds a list of models. It never changes, so it is safe for concurrent use. The zero
// value is empty.
type Catalog struct{ providers []*list }

// list holds the models of a provider, the newest or the usual one first. Those of the library are
// decoded at their first use: most programs use one provider.
type list struct {
	provider string
	once     sync.Once
	models   []llm.Model
}

// New returns the catalog that comes with the library. All of them share its models.
func New() *Catalog { return &Catalog{lists()} }

// lists returns the lists of the library. Vendors come before the hosts of their models.
var lists = sync.OnceValue(func() []*list {
	names := []string{"anthropic", "openai", "gemini"}
	files, _ := builtin.ReadDir("models") // cannot fail: a test reads them all
	for _, f := range files {
		if name := strings.TrimSuffix(f.Name(), ".json"); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	all := make([]*list, len(names))
	for i, name := range names {
		all[i] = &list{provider: name}
	}
	return all
})

// of returns the list of a provider, or nil.
func (c *Catalog) of(provider string) *list {
	if i := slices.IndexFunc(c.providers, func(l *list) bool { return l.provider == provider }); i >= 0 {
		return c.providers[i]
	}
	return nil
}

// all returns the models of the list. The caller must not change them.
func (l *list) all() []llm.Model {
	l.once.Do(func() {
		if l.models != nil {
			return
		}
		text, _ := builtin.ReadFile("models/" + l.provider + ".json") // cannot fail: a test reads them all
		_ = json.Unmarshal(text, &l.models)
		for i := range l.models {
			l.models[i].WebSearch = SearchPrice(l.provider, l.models[i].ID)
		}
	})
	return l.models
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
		if err := Check(&m); err != nil {
			return nil, fmt.Errorf("catalog: model %s of %s: %w", m.ID, m.Provider, err)
		}
	}
	return c.With(models...), nil
}

// Check returns an error for numbers of a model that cannot be true.
func Check(m *llm.Model) error {
	if m.Window < 0 || m.MaxWindow < 0 || m.MaxOutput < 0 {
		return errors.New("context_window, max_window and max_output are numbers of tokens, from 0 on")
	}
	for _, price := range m.Prices {
		if min(price.Input, price.Output, price.CacheRead, price.CacheWrite) < 0 {
			return errors.New("prices are dollars for a million tokens, from 0 on")
		}
	}
	return nil
}

// With returns the catalog with models added. A model that it already has, by provider and id, is
// replaced as a whole and keeps its place. Others come first, as the newest.
func (c *Catalog) With(models ...llm.Model) *Catalog {
	merged := &Catalog{providers: slices.Clone(c.providers)}
	added := map[string]int{} // by provider
	for _, m := range models {
		i := slices.IndexFunc(merged.providers, func(l *list) bool { return l.provider == m.Provider })
		if i < 0 {
			merged.providers, i = slices.Insert(merged.providers, 0, &list{provider: m.Provider}), 0
		}
		own := slices.Clone(merged.providers[i].all())
		if at := slices.IndexFunc(own, func(o llm.Model) bool { return o.ID == m.ID }); at >= 0 {
			own[at] = m
		} else {
			own = slices.Insert(own, added[m.Provider], m)
			added[m.Provider]++
		}
		merged.providers[i] = &list{provider: m.Provider, models: own}
	}
	return merged
}

// Get returns a provider's model by its id or an alias. It is an [llm.Lookup].
func (c *Catalog) Get(provider, id string) (llm.Model, bool) {
	l := c.of(provider)
	if l == nil {
		return llm.Model{}, false
	}
	models := l.all()
	i := slices.IndexFunc(models, func(m llm.Model) bool { return m.ID == id })
	if i < 0 {
		i = slices.IndexFunc(models, func(m llm.Model) bool { return slices.Contains(m.Aliases, id) })
	}
	if i < 0 {
		return llm.Model{}, false
	}
	return models[i], true
}

// List returns a provider's models, the newest or the usual one first. An empty provider means all
// models.
func (c *Catalog) List(provider string) []llm.Model {
	var models []llm.Model
	for _, l := range c.providers {
		if provider != "" && l.provider != provider {
			continue
		}
		models = append(models, l.all()...)
	}
	return models
}

// Latest returns a provider's first model with all of the capabilities: reasoning, or an input
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
