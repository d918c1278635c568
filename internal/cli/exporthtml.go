package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/internal/atomicfile"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/web"
)

// newSessionsExport returns the command that prints a session as Markdown or writes it as a page.
func newSessionsExport(t terminal, markdown func(context.Context, string) error) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "export <id>",
		Short: "Print a session as Markdown, or write it as a page in one file",
		Long: `Export prints a session as Markdown. With --html it writes the page of attractor view instead: one HTML file with the session and those of its
subagents, which opens in a browser without a network. The file has what the session has now, without the secrets that attractor knows. Only
you can read it, until you change its mode. Look through it before you give it away: it has the texts of the files and commands that the
session has seen.`,
		Example:           "  attractor sessions export 0192 --html session.html",
		Args:              takes(sessionID()),
		ValidArgsFunction: completeSession,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !cmd.Flags().Changed("html"):
				return markdown(cmd.Context(), args[0])
			case file == "":
				return fail(exitUsage, "--html needs the name of a file, or - for standard output")
			}
			return exportPage(cmd.Context(), t, args[0], file)
		},
	}
	cmd.Flags().StringVar(&file, "html", "",
		"write the page to this `file`, which is replaced if it exists; - is standard output")
	return cmd
}

// exportPage writes the page of a session to a file.
func exportPage(ctx context.Context, t terminal, prefix, file string) error {
	dir, err := sessionStore()
	if err != nil {
		return err
	}
	id, err := findSession(ctx, dir, prefix)
	if err != nil {
		return err
	}
	if at := ledAway(file); at != "" && file != "-" {
		return fail(exitUsage, "--html: %s", followsNoLink(file, at))
	}
	if file == "-" && isTerminal(t.out) {
		return fail(exitUsage, "the page is not for a terminal; name a file, or send standard output elsewhere")
	}
	o := web.ExportOptions{Masker: environmentSecrets(), Facts: knownFacts()}
	ctx, stop := newStopper(ctx, t.err)
	err = exportTo(ctx, t, dir, id, file, o)
	switch code := stop.stop(); {
	case err == nil: // also if a signal came too late
		return nil
	case code != 0 && file == "-":
		return &exitError{code: code, err: errors.New("stopped by a signal; the page is not complete")}
	case code != 0:
		return &exitError{code: code, err: errors.New("stopped by a signal; no file was written")}
	}
	return fail(exitFailed, "%w", err)
}

// exportTo writes the page to a file, or to standard output if its name is "-".
func exportTo(ctx context.Context, t terminal, store journal.Store, id, file string, o web.ExportOptions) error {
	if file == "-" {
		return web.Export(ctx, inForm(t.out, sanitize.JSON), store, id, o)
	}
	return replaceFile(file, func(w io.Writer) error { return web.Export(ctx, w, store, id, o) })
}

// exportOwn writes a session that is open to a file, without its secrets: as a page if the name
// ends in .html, else as Markdown. It follows no link: an agent may have made it, or the repository
// has it.
func exportOwn(ctx context.Context, store journal.Store, setup *attractor.Setup, file string) error {
	work, _ := os.Getwd() // if it is gone, making the file tells it
	if setup.Local != nil {
		work = setup.Local.WorkDir()
	}
	if name, err := filepath.Rel(work, file); err == nil {
		if at := ledAwayFrom(work, name); at != "" {
			return errors.New(followsNoLink(file, at))
		}
	}
	return replaceFile(file, func(w io.Writer) error {
		id := setup.Options.ID
		if strings.EqualFold(filepath.Ext(file), ".html") {
			return web.Export(ctx, w, store, id, web.ExportOptions{Masker: setup.Secrets})
		}
		r, err := store.Read(ctx, id)
		if err != nil {
			return err
		}
		var text bytes.Buffer
		err = errors.Join(exportSession(ctx, terminal{out: &text}, r), r.Close())
		if err == nil {
			_, err = io.WriteString(w, setup.Secrets.String(text.String()))
		}
		return err
	})
}

// replaceFile replaces a file by what write writes, with mode 0600. If write fails, the file stays
// as it was. It does not replace what is no regular file, such as a link or a device.
func replaceFile(name string, write func(io.Writer) error) error {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file; name another one", name)
	}
	return atomicfile.WriteFunc(name, write)
}
