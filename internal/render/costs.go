package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/sessions/costs"
)

// mostParts limits the parts of the prompt that are shown.
const mostParts = 10

// Costs returns what a session has used by model and, if it was not only for answers, by purpose,
// and the parts of its prompt that have cost most.
func Costs(sum *costs.Sum) string {
	var b strings.Builder
	spent := func(indent, name string, s costs.Spent) {
		fmt.Fprintf(&b, "%s%s: %s\n", indent, name, Spent(s.Usage, len(sum.Models), s.USD))
	}
	for _, model := range slices.Sorted(maps.Keys(sum.Models)) {
		spent("  ", OneLine(model), sum.Models[model])
	}
	if len(sum.Models) != 1 {
		spent("  ", "together", sum.Total)
	}
	if _, answers := sum.Purposes[costs.Answers]; len(sum.Purposes) > 1 || !answers && len(sum.Purposes) > 0 {
		for _, purpose := range slices.Sorted(maps.Keys(sum.Purposes)) {
			spent("    ", "for "+purpose, sum.Purposes[purpose])
		}
	}
	parts := sum.Parts()
	if len(parts) == 0 {
		return b.String()
	}
	fmt.Fprintf(&b, "  as input of all requests until now, the dearest parts of the prompt:\n")
	for _, p := range parts[:min(len(parts), mostParts)] {
		what := p.String()
		if p.Args != nil {
			what += ": " + Subject(p.Args)
		}
		fmt.Fprintf(&b, "    %s  %s (%s)\n", price(p), OneLine(what), Count(p.Requests, "request"))
	}
	if rest := parts[min(len(parts), mostParts):]; len(rest) > 0 {
		var all costs.Part
		for _, p := range rest {
			all.Tokens, all.USD = all.Tokens+p.Tokens, all.USD+p.USD
		}
		fmt.Fprintf(&b, "    %s  %s\n", price(all), Count(len(rest), "other part"))
	}
	return b.String()
}

// price returns what a part has cost, in tokens if the prices are not known.
func price(p costs.Part) string {
	if p.USD == 0 {
		return fmt.Sprintf("%8s tokens", Thousands(p.Tokens))
	}
	return fmt.Sprintf("%8s", fmt.Sprintf("$%.4f", p.USD))
}
