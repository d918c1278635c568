package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/profile/profiles"
)

func newModels(t terminal) *cobra.Command {
	var provider, baseURL string
	var asJSON, ofProviders bool
	cmd := &cobra.Command{
		Use:   "models",
		Short: "List known models, the newest or the usual ones first",
		Long: `Models lists the models that Attractor knows, with context window, output limit, prices and reasoning efforts.
Other models can be used as well, but without these limits and prices. With --providers it lists the providers, with the
variables of the environment that they need.

Your own providers, in the setting providers of config.json, are among them (docs/providers.md).

With --provider, and if the environment, the settings or --base-url say where its server is, that is asked for its models as well. ` + "`attractor models update`" + ` asks
all of them and OpenRouter, and keeps what they say of windows and prices. Your own facts about models, in the form of --json, are
in ~/.config/attractor/models.json.

Prices are in US dollars per million tokens. If they depend on the length of the input, the list has those of short inputs.
A window with a larger one behind it is where a higher price begins; --context-window can exceed it.`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, table, err := t.providersConfig()
			if err != nil {
				return err
			}
			if provider != "" && !hasOwn(config, provider) {
				if _, err := table.Find(provider); err != nil {
					return fail(exitUsage, "%w", err)
				}
			}
			if ofProviders {
				return printProviders(t, table, provider, asJSON)
			}
			if cmd.Flags().Changed("base-url") {
				if provider == "" {
					return usage(cmd, errors.New("--base-url needs --provider"))
				}
				config.Set("provider", "--provider", provider)
				config.Set("base_url", "--base-url", baseURL)
			}
			models, err := listModels(cmd.Context(), t, &config, provider)
			if err != nil {
				return err
			}
			if asJSON {
				if models == nil {
					models = []llm.Model{}
				}
				return printJSON(t, models)
			}
			if len(models) == 0 {
				fmt.Fprintf(t.err, "No model of %s is listed here. Each that its server has can be used, without "+
					"known limits and prices: attractor run --provider %[1]s --model NAME\n", provider)
				return nil
			}
			return printModels(t, models)
		},
	}
	cmd.Flags().StringVar(&provider, "provider", "", "list only the models of the provider with this `name`")
	cmd.Flags().StringVar(&baseURL, "base-url", "", "ask the provider's server at this `URL`")
	cmd.Flags().BoolVar(&ofProviders, "providers", false, "list providers instead of models")
	cmd.Flags().BoolVar(&asJSON, "json", false,
		"print a JSON array of models, with id, provider, context_window, max_output, efforts and prices")
	cmd.AddCommand(&cobra.Command{
		Use:   "update",
		Short: "Ask the providers for their models, windows and prices, and keep them",
		Long: `Update asks each provider that the environment configures, and OpenRouter, whose list is public, for its models, and keeps what they
say of windows, output limits and prices in models.json of your data directory. Sessions then use that in place of what came with Attractor.
Remove the file to go back. Most servers say only the names.`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return updateModels(cmd.Context(), t) },
	})
	return cmd
}

// hasOwn reports whether the program itself has a provider of this name, beside those of the table.
func hasOwn(c attractor.Config, name string) bool {
	return slices.ContainsFunc(c.Providers, func(p llm.Provider) bool { return p.Name() == name })
}

// listModels returns the known models of a provider, or of all, and those that its server lists
// beside them, unless the provider is the program's own. If no model is known, a server that fails
// is an error.
func listModels(ctx context.Context, t terminal, c *attractor.Config, provider string) ([]llm.Model, error) {
	known, err := userCatalog()
	if err != nil {
		return nil, err
	}
	known = known.With(c.Models...)
	models := known.List(provider)
	if provider == "" || hasOwn(*c, provider) {
		return models, nil
	}
	listed, _, err := askServer(ctx, c, provider)
	if errors.Is(err, attractor.ErrConfig) {
		return nil, hostError(err)
	} else if err != nil {
		hint := modelHint(err)
		if errors.Is(err, llm.ErrNotFound) {
			hint = "\nThat is no mistake if the server has no such list. Otherwise check its URL."
		} else if len(models) == 0 {
			return nil, fail(modelExit(err), "the server did not list its models: %w%s", err, hint)
		}
		fmt.Fprintf(t.err, "attractor: the server did not list its models: %v%s\n", err, hint)
	}
	for _, m := range listed {
		if _, has := known.Get(provider, m.ID); !has {
			models = append(models, m)
		}
	}
	return models, nil
}

// printModels prints a table of models.
func printModels(t terminal, models []llm.Model) error {
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PROVIDER\tMODEL\tWINDOW\tOUTPUT\tIN $\tOUT $\tEFFORTS")
	for _, m := range models {
		in, out := "-", "-"
		if len(m.Prices) > 0 {
			in, out = fmt.Sprint(m.Prices[0].Input), fmt.Sprint(m.Prices[0].Output)
		}
		window, output := orDash(m.Window), orDash(m.MaxOutput)
		if m.MaxWindow > 0 {
			window += fmt.Sprintf(" (%d)", m.MaxWindow)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.Provider, render.OneLine(m.ID), window, output, in, out,
			strings.Join(m.Efforts, " "))
	}
	return w.Flush()
}

// orDash returns a number, or a dash for 0.
func orDash(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// providerRow describes a provider in the list.
type providerRow struct {
	Name      string           `json:"name"`
	Format    providers.Format `json:"format"`
	Variables []string         `json:"variables"` // what a session needs, one of each with " or "
	Model     string           `json:"model,omitempty"`
	Known     string           `json:"known"` // from what
}

// printProviders prints the providers of a table, or only the one with a name.
func printProviders(t terminal, table providers.Table, only string, asJSON bool) error {
	var rows []providerRow
	for _, k := range table {
		if only != "" && k.Name != only {
			continue
		}
		r := providerRow{Name: k.Name, Format: k.Format, Variables: k.Variables(), Known: "documents"}
		if p, err := profiles.Find(k.Name, false); err == nil {
			r.Model = p.Model
		} else {
			first, _ := catalog.New().Latest(k.Name, "reasoning")
			r.Model = cmp.Or(k.Model, first.ID)
		}
		if k.Recorded {
			r.Known = "recorded"
		}
		if _, err := providers.Find(k.Name); err != nil {
			r.Known = "you"
		}
		rows = append(rows, r)
	}
	if asJSON {
		return printJSON(t, rows)
	}
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PROVIDER\tFORMAT\tSET\tDEFAULT MODEL\tKNOWN FROM")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.Name, r.Format, cmp.Or(strings.Join(r.Variables, ", "), "-"),
			cmp.Or(r.Model, "-"), r.Known)
	}
	return w.Flush()
}
