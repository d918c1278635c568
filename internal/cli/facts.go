package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/attractor-go/attractor/internal/atomicfile"
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

// knownModels returns what the user's files say about models: what was updated, and then what stands
// in models.json of the configuration, which takes precedence.
func knownModels() ([]llm.Model, error) {
	var updated updatedFacts
	name, err := updatedFile()
	if err != nil {
		return nil, nil // there are no such files
	}
	if text, err := readFacts(name); err != nil || text != nil && json.Unmarshal(text, &updated) != nil {
		return nil, fail(exitUsage, "%s cannot be read: make it again with attractor models update, or remove it", name)
	}
	dir, err := userfiles.ConfigDir(os.Getenv)
	if err != nil {
		return updated.Models, nil
	}
	name = filepath.Join(dir, "models.json")
	text, err := readFacts(name)
	if err != nil || text == nil {
		return updated.Models, err
	}
	own, err := new(catalog.Catalog).Read(bytes.NewReader(text))
	if err != nil {
		return nil, fail(exitUsage, "%s: %w", name, err)
	}
	return append(updated.Models, own.List("")...), nil
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
	return text, err
}

// userCatalog returns the catalog with what the user's files say.
func userCatalog() (*catalog.Catalog, error) {
	known, err := knownModels()
	return catalog.New().With(known...), err
}

// listTime bounds the question to a server for its models.
const listTime = 20 * time.Second

// askServer returns the models that a provider's server lists. configured is false if the
// environment does not configure the provider.
func askServer(ctx context.Context, k providers.Kind, known *catalog.Catalog) (models []llm.Model, configured bool,
	err error) {
	config, set := k.Config(os.Getenv)
	if !set {
		return nil, false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	config.HTTPClient = new(http.Client)
	models, err = k.List(ctx, config, known)
	return models, true, err
}

// updateModels asks the servers that the environment configures, and OpenRouter, whose list is
// public, and keeps what they say.
func updateModels(ctx context.Context, t terminal) error {
	name, err := updatedFile()
	if err != nil {
		return fail(exitFailed, "there is no directory for the facts: %w", err)
	}
	facts := updatedFacts{Updated: time.Now().UTC().Truncate(time.Second)}
	known, asked := catalog.New(), 0
	for _, k := range providers.Kinds() {
		models, configured, err := askServer(ctx, k, known)
		if k.Name == "openrouter" && !configured {
			models, err = k.List(ctx, providers.Config{}, known)
		} else if !configured || k.Local && errors.Is(err, llm.ErrNetwork) {
			continue
		}
		if err != nil {
			fmt.Fprintf(t.err, "attractor: %v\n", err)
			continue
		}
		asked++
		facts.Models = append(facts.Models, models...)
		fmt.Fprintf(t.out, "%s: %d models\n", k.Name, len(models))
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
