package cli

import (
	"strings"

	"github.com/attractor-go/attractor/internal/debuglog"
	"github.com/attractor-go/attractor/internal/render"
)

// debugHelp describes --debug.
const debugHelp = "append the requests to models, their responses and the session's log to this `file`, as lines of " +
	"JSON without secrets; - is standard error"

// wantsFile says what --debug takes.
const wantsFile = "--debug needs a file, such as --debug ~/debug.jsonl; - is standard error"

// openDebug opens the log that --debug names, nil if it names none.
func openDebug(name string, t terminal) (*debuglog.Log, error) {
	switch name {
	case "":
		return nil, nil
	case "-", "/dev/stderr", "/dev/fd/2":
		if isTerminal(t.err) {
			return nil, fail(exitUsage,
				"--debug %s: standard error is a terminal, which shows the session; name a file, or redirect it "+
					"with 2>FILE", name)
		}
		return debuglog.To("standard error", t.err), nil
	case "/dev/stdout", "/dev/fd/1":
		return nil, fail(exitUsage, "--debug %s: standard output has the answer; name a file, or - for standard error",
			name)
	}
	if strings.HasPrefix(name, "-") {
		return nil, fail(exitUsage, "%s. For a file of that name, write ./%s", wantsFile, render.OneLine(name))
	}
	if at := ledAway(name); at != "" {
		return nil, fail(exitUsage, "--debug: %s", followsNoLink(name, at))
	}
	log, err := debuglog.Open(name)
	if err != nil {
		return nil, fail(exitUsage, "--debug: %w", err)
	}
	return log, nil
}

// closeDebug closes a log. A failure does not change how the command ends.
func closeDebug(log *debuglog.Log, t terminal) {
	if err := log.Close(); err != nil {
		warn(t.err, "the debug log: "+err.Error())
	}
}
