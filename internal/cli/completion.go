package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/settings"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/profile/profiles"
	"github.com/attractor-go/attractor/sessions"
)

// completions returns the possible values of a flag. They are cleaned even though standard output
// is not a terminal, because the shell prints them on one.
type completions func() []cobra.Completion

// complete registers the completions of flags. It skips flags that cmd does not have.
func complete(cmd *cobra.Command, flags map[string]completions) {
	for name, values := range flags {
		if cmd.Flags().Lookup(name) == nil {
			continue
		}
		err := cmd.RegisterFlagCompletionFunc(name, func(_ *cobra.Command, _ []string, _ string) ([]cobra.Completion,
			cobra.ShellCompDirective) {
			return clean(values()), cobra.ShellCompDirectiveNoFileComp
		})
		if err != nil {
			cobra.CompErrorln(err.Error())
		}
	}
}

// flagValues returns the completions of the flags, which mean the same in all commands.
func flagValues(cmd *cobra.Command) map[string]completions {
	return map[string]completions{
		"provider":       providerNames,
		"profile":        func() []cobra.Completion { return profiles.Names() },
		"effort":         func() []cobra.Completion { return knownEfforts() },
		"sandbox":        func() []cobra.Completion { return sandbox.Levels() },
		"mode":           func() []cobra.Completion { return permit.ModeNames() },
		"input":          func() []cobra.Completion { return []string{inputText, inputJSON} },
		"cache-lifetime": func() []cobra.Completion { return settings.CacheLifetimes() },
		"on-limit":       func() []cobra.Completion { return settings.LimitActionNames() },
		"resume":         func() []cobra.Completion { return sessionIDs(cmd.Context()) },
		"fork":           func() []cobra.Completion { return sessionIDs(cmd.Context()) },
		"model": func() []cobra.Completion {
			return modelNames(cmd.Flag("provider").Value.String())
		},
		"fallback": func() []cobra.Completion {
			var names []cobra.Completion
			for _, m := range knownCatalog().List("") {
				names = append(names, m.Provider+"/"+m.ID)
			}
			return names
		},
	}
}

// knownCatalog returns the catalog with the models of the user's own providers.
func knownCatalog() *catalog.Catalog { return catalog.New().With(namedFacts()...) }

// providerNames returns the names of all providers.
func providerNames() []cobra.Completion {
	names := providers.Names()
	for _, p := range namedProviders() {
		names = append(names, p.Name)
	}
	return names
}

// modelNames returns the models of a provider. Without one, those of the user's own providers have
// the provider in front, which chooses it.
func modelNames(provider string) (ids []cobra.Completion) {
	for _, m := range knownCatalog().List(provider) {
		if _, err := providers.Find(m.Provider); err != nil && provider == "" {
			m.ID = m.Provider + "/" + m.ID
		}
		ids = append(ids, m.ID)
	}
	return ids
}

// clean drops words that have invisible characters, and cleans descriptions.
func clean(values []cobra.Completion) []cobra.Completion {
	var kept []cobra.Completion
	for _, value := range values {
		word, description, described := strings.Cut(value, "\t")
		if render.OneLine(word) != word {
			continue
		}
		if described {
			word = cobra.CompletionWithDesc(word, render.OneLine(description))
		}
		kept = append(kept, word)
	}
	return kept
}

// completionTime limits how long a shell waits for a completion.
const completionTime = time.Second

// sessionIDs returns the ids of the sessions, with their tasks, newest first.
func sessionIDs(ctx context.Context) []cobra.Completion {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	dir, err := sessionStore()
	if err != nil {
		return nil
	}
	sessions, err := sessions.List(ctx, dir, 50)
	if err != nil {
		return nil
	}
	var ids []cobra.Completion
	for _, s := range sessions {
		if !s.Created.IsZero() {
			ids = append(ids, cobra.CompletionWithDesc(s.ID, render.Shorten(s.Task, 60)))
		}
	}
	return ids
}

// knownEfforts returns the efforts that any known model takes.
func knownEfforts() []string {
	var all []string
	for _, m := range catalog.New().List("") {
		for _, e := range m.Efforts {
			if !slices.Contains(all, e) {
				all = append(all, e)
			}
		}
	}
	return all
}

// completeSession completes the first argument, which is the id of a session.
func completeSession(cmd *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeSessions(cmd, given, "")
}

// completeSessions completes arguments that are all ids of sessions.
func completeSessions(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return clean(sessionIDs(cmd.Context())), cobra.ShellCompDirectiveNoFileComp
}
