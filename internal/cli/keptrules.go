package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/load"
)

// keptFlags holds the flags of the commands that change the rules that were kept.
type keptFlags struct {
	dir, verdict string
	everywhere   bool
}

func (f *keptFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "dir", ".", "mean the project of this `directory`")
	cmd.Flags().BoolVar(&f.everywhere, "everywhere", false, "mean all projects")
}

// rule returns the rule that the flags and the argument mean.
func (f *keptFlags) rule(text string) (k load.KeptRule, err error) {
	k = load.KeptRule{Verdict: f.verdict, Rule: text}
	if f.everywhere {
		return k, nil
	}
	project, err := load.ReadProject(f.dir, os.Getenv, false)
	if err != nil {
		return k, hostError(err)
	}
	if k.Project = project.KeptAs(); k.Project == "" {
		return k, fail(exitUsage, "the path of the project is not UTF-8, so nothing can be kept for it; pass "+
			"--everywhere")
	}
	return k, nil
}

// whereKept returns where a rule counts.
func whereKept(k load.KeptRule) string { return render.OneLine(cmp.Or(k.Project, "everywhere")) }

// projectsOf returns the project in which a rule counts, or "all projects".
func projectsOf(k load.KeptRule) string { return render.OneLine(cmp.Or(k.Project, "all projects")) }

func newRulesList(t terminal) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the rules that were kept",
		Long: `List prints the rules that answers to questions and attractor rules add have kept, a line each: the project or everywhere, what the rule does,
and the rule. Those of one project count in its directories, found by their real path, and / in front of a pattern of theirs is its root: an
answer about Edit(./**) in the root of a project is kept as Edit(/**).`,
		Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			list, err := load.KeptRules(os.Getenv)
			if err != nil {
				return fail(exitUsage, "%w", err)
			}
			if asJSON {
				return printJSON(t, append([]load.KeptRule{}, list...))
			}
			if len(list) == 0 {
				fmt.Fprintln(t.err, "attractor: no rules were kept; an answer to a question keeps one, and so does: "+
					"attractor rules add")
			}
			w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
			for _, k := range list {
				fmt.Fprintf(w, "%s\t%s\t%s\n", whereKept(k), k.Verdict, render.OneLine(k.Rule))
			}
			if err := w.Flush(); err != nil {
				return err
			}
			if slices.ContainsFunc(list, rooted) {
				fmt.Fprintln(t.err, "attractor: a pattern of a project that begins with / starts at the project's root")
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array of objects with project, verdict and rule")
	return cmd
}

// rooted reports whether the pattern of a project's rule begins at the project's root, which can be
// taken for that of the file system.
func rooted(k load.KeptRule) bool {
	_, pattern, _ := strings.Cut(k.Rule, "(")
	return k.Project != "" && strings.HasPrefix(pattern, "/") && !strings.HasPrefix(pattern, "//")
}

func newRulesAdd(t terminal) *cobra.Command {
	f := new(keptFlags)
	cmd := &cobra.Command{
		Use:   "add <rule>",
		Short: "Keep a rule",
		Long: `Add keeps a rule for the project of the current directory, or with --everywhere for all. It counts in sessions that begin later. In a rule of a
project, patterns that begin with / start at its root.`,
		Example: `  attractor rules add "Bash(go test:*)"
  attractor rules add --verdict deny --everywhere "Bash(git push:*)"`,
		Args: takes(argument{"rule", "such as \"Bash(go test:*)\"; attractor rules --help describes rules"}),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := f.rule(args[0])
			if err != nil {
				return err
			}
			file, err := load.KeepRules(cmd.Context(), os.Getenv, k)
			if err != nil {
				return fail(exitUsage, "%w", err)
			}
			_, err = fmt.Fprintf(t.out, "Kept in %s, for %s: %s %s\n", render.OneLine(file), projectsOf(k), k.Verdict,
				render.OneLine(k.Rule))
			return err
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&f.verdict, "verdict", "allow",
		"the `verdict` about calls that the rule matches: allow, ask or deny")
	return cmd
}

func newRulesRemove(t terminal) *cobra.Command {
	f := new(keptFlags)
	cmd := &cobra.Command{
		Use:   "remove <rule>",
		Short: "Remove a rule that was kept",
		Long: `Remove removes a rule that was kept for the project of the current directory, or with --everywhere one that was kept for all. Sessions that
run go on with it. attractor rules list has the rules.`,
		Example: `  attractor rules remove "Bash(go test:*)"`,
		Args:    takes(argument{"rule", "as attractor rules list shows it"}),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := f.rule(args[0])
			if err != nil {
				return err
			}
			return removeRule(cmd.Context(), t, k)
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&f.verdict, "verdict", "", "only if it has this `verdict`: allow, ask or deny")
	return cmd
}

// removeRule removes a rule, or says where it is kept instead.
func removeRule(ctx context.Context, t terminal, k load.KeptRule) error {
	file, err := load.DropRule(ctx, os.Getenv, k)
	if errors.Is(err, load.ErrNotKept) {
		list, listErr := load.KeptRules(os.Getenv)
		if listErr != nil {
			return fail(exitUsage, "%w", listErr)
		}
		if i := slices.IndexFunc(list, func(o load.KeptRule) bool { return o.Rule == k.Rule }); i >= 0 {
			return fail(exitUsage, "%s was not kept for %s, but for %s; --dir and --everywhere say which is meant",
				render.OneLine(k.Rule), projectsOf(k), projectsOf(list[i]))
		}
		return fail(exitUsage, "%s was not kept; attractor rules list has what was", render.OneLine(k.Rule))
	}
	if err != nil {
		return fail(exitUsage, "%w", err)
	}
	_, err = fmt.Fprintf(t.out, "Removed from %s, for %s: %s\n", render.OneLine(file), projectsOf(k),
		render.OneLine(k.Rule))
	return err
}
