package cli

import (
	"crypto/rand"
	"strings"

	"github.com/spf13/pflag"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/internal/protocol"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/worktree"
)

// startFlags holds the flags of commands that start one session: where it works, and which one it
// continues.
type startFlags struct {
	dir, resume, fork, worktree string
	last                        bool
	images                      []string
}

// register adds the flags.
func (f *startFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.dir, "dir", "",
		"work in this `directory` (default: the current one, or that of the resumed session)")
	flags.StringVar(&f.worktree, "worktree", "",
		"work in a git worktree and a branch of its own, attractor/`name`, which go at the end if nothing would be "+
			"lost; without a name one is made up")
	flags.Lookup("worktree").NoOptDefVal = anyWorktree
	flags.StringVar(&f.resume, "resume", "",
		"continue the session with this `id`; without a prompt, continue its interrupted input")
	flags.BoolVar(&f.last, "continue", false,
		"continue the newest session of the directory; without a prompt, its interrupted input")
	flags.StringArrayVar(&f.images, "image", nil,
		"add the image in this `file` to the first prompt: PNG, JPEG, GIF or WebP, at most 32 MiB; can be repeated")
	flags.StringVar(&f.fork, "fork", "", "start a new session from this one, `id[@turn]`, as it was after that turn")
}

// anyWorktree is the value of --worktree without a name. No worktree can have it as its name.
const anyWorktree = "*"

// config adds what the flags choose to a configuration.
func (f *startFlags) config(c *attractor.Config) (err error) {
	c.Dir, c.Resume, c.Continue = f.dir, f.resume, f.last
	if c.Worktree = f.worktree; f.worktree == anyWorktree {
		c.Worktree = strings.ToLower(rand.Text()[:8])
	}
	if f.fork != "" {
		c.Fork, c.Turn, err = forkPoint(f.fork)
	}
	return err
}

// checkIDs returns an error for a flag that names no session, perhaps by a variable that is not
// set: a new session is not what its user wants.
func (f *startFlags) checkIDs(given func(flag string) bool) error {
	if given("worktree") && f.worktree == "" {
		return fail(exitUsage, "--worktree= needs a name; without the equals sign one is made up")
	}
	for _, id := range []struct{ flag, value string }{{"resume", f.resume}, {"fork", f.fork}} {
		if given(id.flag) && id.value == "" {
			return fail(exitUsage, "--%s needs the id of a session; to list sessions, run: attractor sessions list",
				id.flag)
		}
	}
	return nil
}

// checkPrompt returns an error if the first word of a prompt may have been meant as a worktree's
// name.
func (f *startFlags) checkPrompt(words []string) error {
	if f.worktree != anyWorktree || len(words) < 2 || worktree.Check(words[0]) != nil || words[1] == "-" {
		return nil
	}
	return fail(exitUsage, "with --worktree the prompt is one argument, in quotes; a name stands after an equals "+
		"sign: --worktree=%s", words[0])
}

// check returns an error if the flags contradict each other.
func (f *startFlags) check(kept bool) error {
	switch {
	case f.resume != "" && f.fork != "" || f.last && (f.resume != "" || f.fork != ""):
		return fail(exitUsage, "--resume, --continue and --fork cannot be used together")
	case f.worktree != "" && (f.resume != "" || f.last):
		return fail(exitUsage, "--worktree cannot be used with --resume and --continue: the session goes on in its "+
			"own directory")
	case !kept && f.resumes():
		return fail(exitUsage, "--resume, --continue and --fork cannot be used with --no-journal")
	}
	return nil
}

// pictures reads the images for the first prompt.
func (f *startFlags) pictures() (parts []llm.Part, err error) {
	for _, name := range f.images {
		image, err := protocol.ReadImage(name)
		if err != nil {
			return nil, hostError(err)
		}
		parts = append(parts, image)
	}
	return parts, nil
}

// resumes reports whether the session is an earlier one, or a fork of one.
func (f *startFlags) resumes() bool { return f.resume != "" || f.fork != "" || f.last }

// sessionFlags holds the flags that every command which runs sessions has: for the provider, the
// model, permissions and limits.
type sessionFlags struct {
	settingFlags
	debug, envCommand  string
	yes, ask, readOnly bool
	trustProject       bool
	checks             attractor.Checks
}

// register adds the flags.
func (f *sessionFlags) register(flags *pflag.FlagSet) {
	f.settingFlags.register(flags)
	f.registerChecks(flags)
	flags.BoolVar(&f.yes, "yes", false, "answer every question about a tool call with yes, like --mode full")
	flags.BoolVar(&f.ask, "ask", false, "ask about tool calls that no rule decides, like --mode ask")
	flags.BoolVar(&f.readOnly, "read-only", false,
		"refuse tool calls that change or run anything, or that the rules ask about, as long as the session runs")
	flags.StringVar(&f.envCommand, "env-command", "",
		"work where this `command` leads, such as 'docker exec -i box' or 'ssh host'; --dir and --add-dir are "+
			"directories there; a resumed session keeps it; '' means this machine")
	flags.StringVar(&f.debug, "debug", "", debugHelp)
	flags.BoolVar(&f.trustProject, "trust-project", false,
		"trust what the project's files start and allow, this time only; for machines, where nobody can run "+
			"attractor trust")
}

// mode returns the mode that was chosen, or "".
func (f *sessionFlags) mode() permit.Mode { return permit.Mode(f.settings.Text("mode")) }

// keeps reports whether the session is kept.
func (f *sessionFlags) keeps() bool { return f.settings.Text("no_journal") != "true" }

// checkMode returns an error if several flags choose a mode, or if there is no such mode.
func (f *sessionFlags) checkMode(given func(flag string) bool) error {
	chosen := 0
	for _, is := range []bool{f.yes, f.ask, f.readOnly, given("mode")} {
		if is {
			chosen++
		}
	}
	if chosen > 1 {
		return fail(exitUsage, "--mode, --yes, --ask and --read-only cannot be used together")
	}
	return nil
}
