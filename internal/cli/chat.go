package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/internal/chat"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/sessions"
)

// chatFlags holds the flags of chat.
type chatFlags struct {
	startFlags
	sessionFlags
	viewFlag
}

func newChat(t terminal) *cobra.Command {
	f := new(chatFlags)
	cmd := &cobra.Command{
		Use:   "chat [flags] [prompt]",
		Short: "Talk with an agent on this terminal",
		Long: `Chat is a conversation with an agent: it shows the answers as they come and what the agent does, and asks here
before a tool call does anything but read (attractor run --help says which calls). attractor alone, on a terminal,
is the same.

Enter sends a message. While the agent works, it gets the message before its next step. Ctrl-C interrupts it, and
twice ends the conversation, which attractor chat --resume ID goes on with. /help lists the commands and the other
keys. Lines that begin with / can also be skills and commands of files (attractor commands).

With TERM=dumb or without TERM, or with ATTRACTOR_ACCESSIBLE=1 or ACCESSIBLE=1 for screen readers, nothing is drawn
again: there are only lines. NO_COLOR turns colours off. What you type is kept for the arrow keys, without secrets,
in attractor/history below $XDG_STATE_HOME or ~/.local/state; ATTRACTOR_HISTORY=off turns that off.

One of these variables chooses the provider: ` + texts.Or(providers.Variables()) + `.
If several are set, choose with --provider.`,
		Example: `  attractor chat
  attractor chat --mode plan "how would you add a cache here?"
  attractor chat --resume 3f2c`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), t, strings.Join(args, " "), cmd.Flags())
		},
	}
	f.register(cmd.Flags())
	return cmd
}

// register adds the flags of chat.
func (f *chatFlags) register(flags *pflag.FlagSet) {
	f.startFlags.register(flags)
	f.sessionFlags.register(flags)
	f.viewFlag.register(flags)
}

// bothTerminals returns the terminal on which a person both types and reads, or nil.
func bothTerminals(t terminal) (in, out *os.File) {
	in, ok := t.in.(*os.File)
	if !ok || !isTerminal(in) || !isTerminal(t.out) {
		return nil, nil
	}
	return in, os.Stdout
}

func (f *chatFlags) run(ctx context.Context, t terminal, prompt string, flags *pflag.FlagSet) error {
	if err := f.readSettings(flags, f.resumes()); err != nil {
		return err
	}
	in, out := bothTerminals(t)
	if in == nil {
		return fail(exitUsage, "chat needs a terminal; for a single task, run: attractor run")
	}
	if err := errors.Join(f.checkIDs(flags.Changed), f.startFlags.check(f.keeps()), f.sessionFlags.check(flags.Changed),
		f.viewFlag.check(f.keeps())); err != nil {
		return err
	}
	config, log, err := f.open(ctx, t, flags.Changed, f.startFlags.config)
	if err != nil {
		return err
	}
	defer closeDebug(log, t)
	images, err := f.pictures()
	if err != nil {
		return err
	}
	config.Interactive = true
	signals := make(chan os.Signal, 2)
	notifyOfEnd(signals)
	defer signal.Stop(signals)
	options := chat.Options{Config: config, Opened: openedText, Prompt: prompt, Images: images, In: in, Out: out,
		Style: chatStyle(os.Getenv),
		Plain: plainTerminal(os.Getenv), Keep: keepRules, History: historyFile(), Signals: signals,
		Hint: modelHint,
		Export: func(ctx context.Context, s *attractor.Setup, file string) error {
			return exportOwn(ctx, config.Store, s, file)
		}}
	if f.view {
		viewer, err := openOwnViewer(ctx, config.Store)
		if err != nil {
			return err
		}
		defer viewer.Close() // nothing is left to be served
		options.View = viewer.open
	}
	ended, err := chat.Run(ctx, options)
	if err != nil {
		return hostError(err)
	}
	tellWorktree(t.err, ended.Worktree)
	if ended.Session != "" {
		fmt.Fprintf(t.err, "To continue the session, run: attractor chat --resume %s%s\n",
			sessions.ShortID(ended.Session), insteadOf(ended.Worktree)+f.serverFlag(flags.Changed))
	}
	if ended.Signal != nil {
		return &exitError{code: chat.ExitCode(ended.Signal), err: errors.New("stopped by a signal")}
	}
	return nil
}

// openedText returns what a person should know of a session that was opened.
func openedText(s *attractor.Setup) string {
	var text bytes.Buffer
	tellOpened(terminal{err: &text}, s)
	return text.String()
}

// chatStyle returns how text looks on the terminal. Where nothing is drawn again there are no
// colours either.
func chatStyle(getenv func(string) string) render.Style {
	return render.Style{Colour: getenv("NO_COLOR") == "" && !plainTerminal(getenv)}
}

// plainTerminal reports whether nothing may be drawn again: on a terminal that cannot move its
// cursor or is not known, and for screen readers.
func plainTerminal(getenv func(string) string) bool {
	on := func(name string) bool { v := getenv(name); return v != "" && v != "0" && v != "false" }
	name := getenv("TERM")
	return name == "" || name == "dumb" || on("ATTRACTOR_ACCESSIBLE") || on("ACCESSIBLE")
}

// historyFile returns the file of what the user has typed, or "" if it is not kept.
func historyFile() string {
	if v := os.Getenv("ATTRACTOR_HISTORY"); v == "off" || v == "0" {
		return ""
	}
	dir, err := userfiles.StateDir(os.Getenv)
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "attractor", "history")
}
