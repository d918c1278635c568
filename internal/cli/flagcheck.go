package cli

import (
	"errors"
)

// check returns an error if the flags of run contradict each other, before anything is opened or
// asked for. It reads the files that flags name.
func (f *runFlags) check(given func(flag string) bool) (err error) {
	switch {
	case f.timeout < 0:
		return fail(exitUsage, "--timeout cannot be negative")
	case f.mcpWait < 0:
		return fail(exitUsage, "--mcp-wait cannot be negative")
	case f.answerTimeout < 0:
		return fail(exitUsage, "--answer-timeout cannot be negative")
	case f.input == inputText && f.answerTimeout > 0 && !f.view:
		return fail(exitUsage, "--answer-timeout needs --input json or --view")
	case f.input == inputJSON && f.ask:
		return fail(exitUsage, "--ask asks on the terminal; with --input json the client is asked")
	}
	f.json = f.json || f.input == inputJSON
	if err := f.startFlags.check(f.keeps()); err != nil {
		return err
	}
	if err := f.sessionFlags.check(given); err != nil {
		return err
	}
	if err := f.viewFlag.check(f.keeps()); err != nil {
		return err
	}
	f.schema, err = readSchema(f.outputSchema)
	return err
}

// checkInput returns an error for a form of input that does not exist, and for a prompt that cannot
// be read beside the lines.
func (f *runFlags) checkInput(args []string) error {
	switch {
	case f.input != inputText && f.input != inputJSON:
		return fail(exitUsage, "--input must be text or json, not %q", f.input)
	case f.input == inputJSON && endsInDash(args):
		return fail(exitUsage, "standard input has the lines of --input json, so the prompt cannot be -; send it "+
			"as a line")
	}
	return nil
}

// check returns an error if flags contradict each other.
func (f *sessionFlags) check(given func(flag string) bool) error {
	if !f.keeps() && f.settings.Get("keep_outputs") != nil && f.settings.Text("keep_outputs") != "0" { // not by default
		return fail(exitUsage, "--keep-outputs cannot be used with --no-journal")
	}
	return errors.Join(f.checkMode(given), f.checkChecks())
}
