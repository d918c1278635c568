package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/settings"
	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/load"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/trust"
)

func newTrust(t terminal) *cobra.Command {
	var list, revoke, asJSON bool
	cmd := &cobra.Command{
		Use:   "trust [directory]",
		Short: "Show and trust what the files of a project start and allow",
		Long: `Trust shows which files of a project start programs or allow tool calls, and asks whether you trust them: permission rules that allow, hooks
and the scripts that they name, MCP servers, commands, skills and agents. The project is the git repository of the directory, or the directory
itself. Until you trust it, these files have no effect, except that their rules that deny or ask count, and your own MCP servers without a cwd
start in an empty directory.

When one of the files changes, trust ends until you have seen the difference. A decision about the main work tree of a repository counts in its
linked ones as well, while the files are the same there, and says nothing about repositories inside the project. Decisions are kept in
$XDG_STATE_HOME/attractor/trust, or in ~/.local/state/attractor/trust if XDG_STATE_HOME is not set.

For machines, attractor run --trust-project trusts a project for one run and keeps no decision.`,
		Example: `  attractor trust                    show the project of the current directory, and decide
  attractor trust --list             list the decisions
  attractor trust --revoke ~/src/x   forget a decision`,
		Args: takesUpTo(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			switch {
			case list && (revoke || len(args) > 0):
				return usage(cmd, errors.New("--list takes no directory, and cannot be used together with --revoke"))
			case asJSON && !list:
				return usage(cmd, errors.New("--json needs --list"))
			case len(args) > 0:
				dir = args[0]
			}
			store, err := load.TrustStore(os.Getenv)
			switch {
			case err != nil:
				return hostError(err)
			case list:
				return listTrust(t, store, asJSON)
			case revoke:
				return revokeTrust(t, store, dir)
			}
			return decideTrust(cmd.Context(), t, store, dir)
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "list the decisions")
	cmd.Flags().BoolVar(&revoke, "revoke", false, "forget the decision about the directory")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the list as JSON")
	return cmd
}

// tellUntrusted warns if files of the project have no effect, unless the session tells which.
func tellUntrusted(t terminal, s *attractor.Setup) {
	p := s.Project
	if line := p.Untrusted(); line != "" && !s.TellsUnused() {
		warn(t.err, render.OneLine(line)+"; to see it and decide, run: attractor trust "+
			render.OneLine(shquote.Shown(p.Root)))
	}
}

// listTrust prints the decisions.
func listTrust(t terminal, store *trust.Store, asJSON bool) error {
	entries, err := store.List()
	if err != nil {
		return fail(exitFailed, "%w", err)
	}
	if asJSON {
		if entries == nil {
			entries = []trust.Entry{}
		}
		return printJSON(t, entries)
	}
	if len(entries) == 0 {
		fmt.Fprintln(t.err, "attractor: there are no decisions yet; to make one, run: attractor trust")
	}
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	for _, e := range entries {
		if e.Problem != "" {
			warn(t.err, render.OneLine(e.Problem))
			continue
		}
		fmt.Fprintf(w, "%s\t%s\tfiles: %d\t%s\n", e.State, e.Time.Local().Format(time.DateTime), e.Files,
			render.OneLine(e.Root))
	}
	return w.Flush()
}

// revokeTrust forgets the decision about the project of a directory, or about the directory itself
// if it does not exist any more.
func revokeTrust(t terminal, store *trust.Store, dir string) error {
	root, decided := dir, dir
	if p, err := load.ReadProject(dir, os.Getenv, false); err == nil {
		root, decided = p.Root, p.DecidedIn
	}
	err := store.Revoke(root)
	switch {
	case errors.Is(err, trust.ErrNoDecision) && decided != root:
		return fail(exitFailed, "%w; that about the main work tree counts here, and to forget it, run: attractor "+
			"trust --revoke %s", err, shquote.Shown(decided))
	case err != nil:
		return fail(exitFailed, "%w; to list the decisions, run: attractor trust --list", err)
	}
	fmt.Fprintf(t.out, "The decision about %s is forgotten.\n", render.OneLine(root))
	return nil
}

// decideTrust shows the project of a directory and asks whether its user trusts it, unless it is
// trusted already.
func decideTrust(ctx context.Context, t terminal, store *trust.Store, dir string) error {
	p, err := load.ReadProject(dir, os.Getenv, false)
	if err != nil {
		return hostError(err)
	}
	decided := p.Trusted && !p.Decision.Since.IsZero()
	if p.Empty() {
		fmt.Fprintf(t.out, "%s has no files that start or allow something.\n", render.OneLine(p.Root))
	} else {
		showProject(t, p)
	}
	switch {
	case len(p.Problems) > 0:
		return fail(exitFailed, "the project cannot be trusted: %w", p.Problems[0])
	case decided:
		fmt.Fprintf(t.out, "\nYou have trusted this project since %s. To end that, run: attractor trust --revoke %s\n",
			p.Decision.Since.Local().Format(time.DateTime), render.OneLine(shquote.Shown(p.DecidedIn)))
		return nil
	}
	return askTrust(ctx, t, store, p)
}

// showProject prints what a project starts and allows, and what has changed since the last
// decision.
func showProject(t terminal, p *load.Project) {
	fmt.Fprintf(t.out, "Files of %s that start or allow something:\n", render.OneLine(p.Root))
	effects := p.Effects()
	for _, f := range p.Files {
		fmt.Fprintf(t.out, "  %s (%s, %d bytes%s)\n", render.OneLine(f.Name), f.Kind, len(f.Data), modeOf(&f))
		for _, e := range effects {
			if e.File == f.Name && e.Text != "" {
				fmt.Fprintf(t.out, "    %s: %s%s\n", render.OneLine(e.What), render.OneLine(e.Text), hasNoEffect(e))
			}
		}
		for _, u := range p.Unwatched {
			if u.Name == f.Name {
				fmt.Fprintf(t.out, "    not watched for changes: %s\n", render.OneLine(u.Reason))
			}
		}
	}
	if slices.ContainsFunc(p.Files, func(f trust.File) bool { return f.Kind == trust.Servers }) {
		fmt.Fprintln(t.out, "  Servers are started with each session. They run as you, and in a sandbox only if the "+
			"session has one (attractor run --sandbox).")
	}
	for _, problem := range p.Problems {
		fmt.Fprintf(t.out, "  %s\n", render.OneLine(problem.Error()))
	}
	if p.Unknown != nil {
		fmt.Fprintf(t.out, "\nYour last decision cannot be read: %s\n", render.OneLine(p.Unknown.Error()))
	}
	if p.Decision.State != trust.Changed {
		return
	}
	fmt.Fprintf(t.out, "\nChanges since you decided on %s:\n", p.Decision.Since.Local().Format(time.DateTime))
	for _, c := range p.Decision.Changes {
		fmt.Fprintf(t.out, "  %s %s\n    %s\n", c.What, render.OneLine(c.Name),
			strings.ReplaceAll(strings.TrimRight(sanitize.Text(c.Diff), "\n"), "\n", "\n    "))
	}
}

// hasNoEffect returns why a setting of the project has no effect, in parentheses, or "".
func hasNoEffect(e trust.Effect) string {
	key, is := strings.CutPrefix(e.What, "sets ")
	for _, s := range settings.All() {
		if is && s.Key == key && s.Why != "" {
			return " (no effect: " + s.Why + ")"
		}
	}
	return ""
}

// modeOf returns what is special about a file, for a person.
func modeOf(f *trust.File) (text string) {
	if f.Executable {
		text = ", executable"
	}
	if f.Link != "" {
		text += ", a link to " + render.OneLine(f.Link)
	}
	return text
}

// trustLabel begins the line on which a person answers.
const trustLabel = "Trust this project? [y]es, [n]o: "

// askTrust asks the person on the terminal and keeps the answer.
func askTrust(ctx context.Context, t terminal, store *trust.Store, p *load.Project) error {
	c := openConsole(t)
	switch {
	case c == nil && p.Empty():
		return nil // nothing of it waits for an answer
	case c == nil:
		return fail(exitUsage, "there is no terminal to ask on; to trust the project for one run, pass "+
			"--trust-project to attractor run")
	}
	defer c.Close() // nothing of what was written waits
	if p.Empty() {
		fmt.Fprintln(c.out, "\nIf you trust it, your MCP servers without a cwd start in its directory, until it has "+
			"such a file.")
	} else {
		fmt.Fprintln(c.out, "\nThese files take effect if you trust them, until one of them changes.")
	}
	for range 3 {
		line, err := c.ask(ctx, trustLabel)
		switch strings.ToLower(line) {
		case "y", "yes":
			if err := store.Grant(p.Snapshot); err != nil {
				return fail(exitFailed, "%w", err)
			}
			fmt.Fprintln(t.err, "The project is trusted.")
			return nil
		case "n", "no":
			if err := store.Decline(p.Snapshot); err != nil {
				return fail(exitFailed, "%w", err)
			}
			fmt.Fprintln(t.err, "The project is not trusted. You will not be asked until one of these files changes.")
			return nil
		}
		if err != nil {
			break
		}
	}
	return fail(exitFailed, "nothing was decided")
}
