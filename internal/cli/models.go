package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/llm/providers"
)

func newModels(t terminal) *cobra.Command {
	var provider string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "models",
		Short: "List known models, newest first",
		Long: `Models lists the models that Attractor knows, with context window, output limit, prices and reasoning efforts.
Other models can be used as well, but without these limits and prices.

Prices are in US dollars per million tokens. If they depend on the length of the input, the list has those of short inputs.`,
		Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			if provider != "" {
				if _, err := providers.Find(provider); err != nil {
					return fail(exitUsage, "%w", err)
				}
			}
			models := catalog.New().List(provider)
			if asJSON {
				if models == nil {
					models = []llm.Model{}
				}
				return printJSON(t, models)
			}
			if len(models) == 0 {
				fmt.Fprintf(t.err, "No model of %s is listed here. Each that its server has can be used, without known limits and prices: attractor run --provider %[1]s --model NAME\n", provider)
				return nil
			}
			return printModels(t, models)
		},
	}
	cmd.Flags().StringVar(&provider, "provider", "", "list only the models of the provider with this `name`: "+
		orList(providers.Names()))
	cmd.Flags().BoolVar(&asJSON, "json", false,
		"print a JSON array of models, with id, provider, context_window, max_output, efforts and prices")
	return cmd
}

func printModels(t terminal, models []llm.Model) error {
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PROVIDER\tMODEL\tWINDOW\tOUTPUT\tIN $\tOUT $\tEFFORTS")
	for _, m := range models {
		in, out := "-", "-"
		if len(m.Prices) > 0 {
			in, out = fmt.Sprint(m.Prices[0].Input), fmt.Sprint(m.Prices[0].Output)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\t%s\n", m.Provider, m.ID, m.Window, m.MaxOutput, in, out,
			strings.Join(m.Efforts, " "))
	}
	return w.Flush()
}
