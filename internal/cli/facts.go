package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/internal/atomicfile"
	"github.com/attractor-go/attractor/internal/settings"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/llm/providers"
)

// maxFacts bounds a file with facts about models, in bytes.
const maxFacts = 16 << 20

// updatedFacts is the file that attractor models update writes.
type updatedFacts struct {
	Updated time.Time   `json:"updated"`
	Models  []llm.Model `json:"models"`
}

// updatedFile returns the name of that file.
func updatedFile() (string, error) {
	dir, err := userfiles.DataDir(os.Getenv)
	return filepath.Join(dir, "attractor", "models.json"), err
}

// knownModels returns what the user's files say about models: what was updated, and then what
// stands in models.json of the configuration, which takes precedence.
func knownModels() ([]llm.Model, error) {
	var updated updatedFacts
	name, err := updatedFile()
	if err != nil {
		return nil, nil // there are no such files
	}
	if updated, err = readUpdated(name); err != nil {
		return nil, err
	}
	builtin := catalog.New()
	for i, said := range updated.Models {
		if known, ok := builtin.Get(said.Provider, said.ID); ok {
			updated.Models[i] = withSaid(known, said)
		} else {
			updated.Models[i].WebSearch = catalog.SearchPrice(said.Provider, said.ID)
		}
	}
	own, err := ownFacts()
	return append(append(updated.Models, own...), namedFacts()...), err
}

// ownFacts returns what stands in models.json of the configuration.
func ownFacts() ([]llm.Model, error) {
	dir, err := userfiles.ConfigDir(os.Getenv)
	if err != nil {
		return nil, nil
	}
	name := filepath.Join(dir, "models.json")
	text, err := readFacts(name)
	if err != nil || text == nil {
		return nil, err
	}
	own, err := new(catalog.Catalog).Read(bytes.NewReader(text))
	if err != nil {
		return nil, fail(exitUsage, "%s: %w", name, err)
	}
	return own.List(""), nil
}

// namedProviders returns the providers of the user's own, none if the settings have mistakes, which
// each session tells.
func namedProviders() []settings.Named {
	values, _ := settings.Users(os.Getenv)
	return settings.NamedIn(values)
}

// namedFacts returns what config.json says of the models of the user's own providers.
func namedFacts() (models []llm.Model) {
	for _, p := range namedProviders() {
		models = append(models, p.Models...)
	}
	return models
}

// readUpdated reads the file that attractor models update writes, if there is one.
func readUpdated(name string) (updated updatedFacts, err error) {
	text, err := readFacts(name)
	if err == nil && text != nil {
		err = json.Unmarshal(text, &updated)
	}
	if err != nil {
		err = fail(exitUsage, "%s cannot be read: remove it, or make it again with attractor models update: %w", name,
			err)
	}
	return updated, err
}

// withSaid returns the known facts about a model, replaced with those that its server has told.
func withSaid(known, said llm.Model) llm.Model {
	switch {
	case said.Window == 0:
	case known.MaxWindow > 0 && said.Window > known.Window: // the smaller one is where a higher price begins
		known.MaxWindow = said.Window
	default:
		known.Window, known.MaxWindow = said.Window, 0
	}
	known.MaxOutput = cmp.Or(said.MaxOutput, known.MaxOutput)
	if said.Input != nil {
		known.Input = said.Input
	}
	if len(said.Prices) > 0 {
		known.Prices = slices.Clone(known.Prices)
		known.Prices = append(said.Prices, known.Prices[min(1, len(known.Prices)):]...)
	}
	return known
}

// readFacts returns the content of a file, nil if there is none.
func readFacts(name string) ([]byte, error) {
	text, err := userfiles.Read(name, maxFacts+1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && len(text) > maxFacts:
		err = fmt.Errorf("%s has more than %d MiB", name, maxFacts>>20)
	}
	return bytes.TrimPrefix(text, []byte(bom)), err
}

// userCatalog returns the catalog with what the user's files say.
func userCatalog() (*catalog.Catalog, error) {
	known, err := knownModels()
	return catalog.New().With(known...), err
}

// knownFacts returns what is known of models: for a page, without the user's files if they cannot
// be read.
func knownFacts() llm.Lookup {
	known, err := userCatalog()
	if err != nil {
		return catalog.New().Get
	}
	return known.Get
}

// listTime bounds the question to a server for its models.
const listTime = 20 * time.Second

// providersConfig returns a configuration that knows the providers of the user and of the program.
func (t terminal) providersConfig() (attractor.Config, providers.Table, error) {
	c := attractor.Config{Load: attractor.LoadUser}
	if err := t.program.configure(&c); err != nil {
		return c, nil, err
	}
	table, err := c.Table()
	if err != nil {
		err = hostError(err)
	}
	return c, table, err
}

// askServer returns the models that a provider's server lists, and whether the environment
// configures the provider.
func askServer(ctx context.Context, c *attractor.Config, provider string) ([]llm.Model, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	return c.ListModels(ctx, provider)
}

// updateModels asks the servers that the environment configures, and OpenRouter, whose list is
// public, and keeps what they say of windows and prices. What a server said earlier stays if it
// does not answer.
func updateModels(ctx context.Context, t terminal) error {
	name, err := updatedFile()
	if err != nil {
		return fail(exitFailed, "there is no directory for the facts: %w", err)
	}
	facts, err := readUpdated(name)
	if err != nil {
		facts = updatedFacts{} // it is made again
	}
	facts.Updated = time.Now().UTC().Truncate(time.Second)
	asked := 0
	config, table, err := t.providersConfig()
	if err != nil {
		return err
	}
	for _, k := range table {
		models, configured, err := askServer(ctx, &config, k.Name)
		if k.Name == "openrouter" && !configured {
			models, err = k.List(ctx, providers.Config{})
		} else if !configured || k.Local && errors.Is(err, llm.ErrNetwork) {
			continue
		}
		if err != nil {
			fmt.Fprintf(t.err, "attractor: %v\n", err)
			continue
		}
		asked++
		fmt.Fprintf(t.out, "%s: %d models", k.Name, len(models))
		models = slices.DeleteFunc(models, func(m llm.Model) bool { return m.Window == 0 && len(m.Prices) == 0 })
		fmt.Fprintf(t.out, ", of %d windows or prices\n", len(models))
		facts.Models = slices.DeleteFunc(facts.Models, func(m llm.Model) bool { return m.Provider == k.Name })
		facts.Models = append(facts.Models, models...)
	}
	if asked == 0 {
		return fail(exitFailed, "no server answered, so nothing was changed")
	}
	text, err := json.MarshalIndent(facts, "", " ")
	if err == nil {
		if err = os.MkdirAll(filepath.Dir(name), 0o700); err == nil {
			err = atomicfile.Write(name, append(text, '\n'))
		}
	}
	if err != nil {
		return fail(exitFailed, "the facts cannot be kept: %w", err)
	}
	fmt.Fprintf(t.out, "Kept in %s.\n", name)
	return nil
}
