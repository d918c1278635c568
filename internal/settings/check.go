package settings

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/permit"
)

// oneOf returns an error unless a text is one of the choices.
func oneOf(text string, choices []string) error {
	if slices.Contains(choices, text) {
		return nil
	}
	return fmt.Errorf("must be %s, not %q", texts.Or(choices), text)
}

// among returns a check that a text is one of the choices.
func among(choices ...string) func(text string) error {
	return func(text string) error { return oneOf(text, choices) }
}

// checkProviders and the other check functions return an error unless a text is a value of their
// setting. The error continues a sentence that begins with the name of the setting.
func checkProviders(text string) error {
	_, err := readNamed(text)
	return err
}

func checkMode(text string) error {
	if here := permit.InPlaceOf(text); here != "" {
		return fmt.Errorf("must be %q instead of %q", here, text)
	}
	return oneOf(text, permit.ModeNames())
}

// CacheAuto is the value of cache_lifetime that leaves the choice to the session.
const CacheAuto = "auto"

// CacheLifetimes returns the values of cache_lifetime.
func CacheLifetimes() []string {
	return []string{CacheAuto, string(agent.CacheShort), string(agent.CacheLong)}
}

func checkLimit(text string) error {
	if err := ParseLimits(new(env.Limits), text); err != nil {
		return fmt.Errorf("is wrong: %w", err)
	}
	return nil
}

func checkPositive(text string) error {
	if n, err := strconv.ParseInt(text, 0, 64); err == nil && n < 1 { // 0x0 is 0, too
		return errors.New("must be at least 1")
	}
	return nil
}

// CheckURL returns an error unless a text can be a base URL. The error does not quote the text,
// which may have a password.
func CheckURL(text string) error {
	if u, err := url.Parse(text); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("must begin with http:// or https://, followed by a host")
	}
	return nil
}

func checkFallback(text string) error {
	_, err := parseFallback(text)
	return err
}

// parseFallback returns the model that provider/model names.
func parseFallback(text string) (agent.FallbackModel, error) {
	provider, model, ok := strings.Cut(text, "/")
	if !ok || provider == "" || model == "" {
		return agent.FallbackModel{}, fmt.Errorf("must be a provider and a model, such as openai/gpt-6.1-sol, not %q",
			text)
	}
	return agent.FallbackModel{Provider: provider, Model: model}, nil
}

// ParseFallbacks returns the models that texts name, each as provider/model.
func ParseFallbacks(texts []string) (models []agent.FallbackModel, err error) {
	for _, text := range texts {
		m, err := parseFallback(text)
		if err != nil {
			return nil, err
		}
		models = append(models, m)
	}
	return models, nil
}

// Prompt returns a text of the user's, or for @ and a name the text of that file.
func Prompt(text string) (string, error) {
	name, isFile := strings.CutPrefix(text, "@")
	if !isFile {
		return text, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("cannot read the instructions: %w", err)
	}
	return string(data), nil
}

// find returns the setting of a key, or an error that says what else may be meant.
func find(key string) (*Setting, error) {
	all := All()
	var keys []string
	for i := range all {
		if all[i].Key == key {
			return &all[i], nil
		}
		keys = append(keys, all[i].Key)
	}
	for name, instead := range onlyFlags() {
		if texts.Folded(name) == texts.Folded(key) {
			return nil, fmt.Errorf("%s cannot be set here: %s", texts.Shown(key), instead)
		}
	}
	if near := texts.Near(key, keys); len(near) > 0 {
		return nil, fmt.Errorf("there is no setting %s; do you mean %s?", shownKey(key), strings.Join(near, " or "))
	}
	return nil, fmt.Errorf("there is no setting %s; attractor config lists all", shownKey(key))
}

// shownKey returns a key of a file, which may be of any length.
func shownKey(key string) string { return texts.Shown(texts.Cut(key, 80, "...")) }
