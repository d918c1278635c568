package coding

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// shellResult adds the end of a command to its result, after what it printed.
func shellResult(r tool.Result) tool.Result {
	if r.Ran == nil {
		return r
	}
	end := Unfinished(r.Ran, "You can retry with a longer timeout by setting the timeout_ms parameter.",
		"run_in_background")
	if code := ExitCode(r.Ran); end == "" && code != "" {
		end = "Exit code: " + code
	}
	remarks := Dialect{}.Remarks(r.Ran)
	switch {
	case end == "" && remarks == "" && r.Content.Text() == "":
		end = NoOutput
	case end != "" && remarks != "":
		end += "\n"
	}
	return AppendText(r, end+remarks)
}

// NoOutput stands in a result for the output of a command that printed nothing and did not fail.
const NoOutput = "(no output)"

// Unfinished returns what a model reads of a command that was interrupted, timed out or lost, or ""
// for any other. more says how to give the command more time. background is the parameter that
// starts it in the background, or "".
func Unfinished(r *tool.Ran, more, background string) string {
	printed := "It printed nothing."
	if r.Bytes > 0 {
		printed = "Output up to then is shown above."
	}
	switch {
	case r.Interrupted && r.Exit == nil:
		return fmt.Sprintf("[ERROR: The command was interrupted (%s). %s]", r.Err, printed)
	case r.Interrupted && r.Exit.Signal == "":
		return fmt.Sprintf("[ERROR: The command was interrupted and ended with exit code %d. %s]", r.Exit.Code, printed)
	case r.Interrupted:
		return fmt.Sprintf("[ERROR: The command was interrupted and killed. %s]", printed)
	case r.Lost:
		return fmt.Sprintf("[ERROR: %s. %s How far the command had come is unknown; what still ran of it is ended. "+
			"Look at what it has done before you run it again. The next call tries to connect again.]", r.Err, printed)
	case r.Err != "":
		return "Error: the command could not be run to its end: " + r.Err
	case r.TimedOut != 0:
		if r.Bytes > 0 {
			printed = "Partial output is shown above."
		}
		text := fmt.Sprintf("[ERROR: Command timed out after %dms. %s%s\n%s]", r.TimedOut.Milliseconds(), printed,
			ranThen(r.Exit), more)
		if background != "" {
			text += fmt.Sprintf("\n[To keep a server or a watcher running, start it with %s.]", background)
		}
		return text
	}
	return ""
}

const (
	maxRanThen     = 3   // processes that are named
	maxCommandLine = 120 // bytes of a command line that are shown
)

// ranThen returns a sentence that begins with a space about what ran when a command was killed, or
// "".
func ranThen(exit *env.Exit) string {
	if exit == nil || len(exit.Killed) == 0 {
		return ""
	}
	var lines []string
	for _, line := range exit.Killed[:min(len(exit.Killed), maxRanThen)] {
		if len(line) > maxCommandLine {
			// a part of a key is not recognized
			line = line[:strings.LastIndexByte(line[:maxCommandLine], ' ')+1] + "..."
		}
		lines = append(lines, "`"+line+"`")
	}
	text := " It was running " + strings.Join(lines, " and ")
	if more := len(exit.Killed) - maxRanThen; more > 0 {
		text += fmt.Sprintf(" and %d more processes", more)
	}
	return text + "."
}

// ExitCode returns the exit code of a command that failed, with the signal that killed it, or ""
// for any other command.
func ExitCode(r *tool.Ran) string {
	switch {
	case r.Exit == nil:
		return ""
	case r.Exit.Signal != "":
		return fmt.Sprintf("%d (killed by %s)", r.Exit.Code, r.Exit.Signal)
	case r.Exit.Code != 0:
		return strconv.Itoa(r.Exit.Code)
	}
	return ""
}

// processStatus returns the line that says whether a background command runs or how it ended.
func (d Dialect) processStatus(r *tool.Ran) string {
	switch {
	case r.Lost:
		return fmt.Sprintf("[Process %s is gone: %s, and what ran there is ended. Start it again if it is needed.]",
			r.ID, r.Err)
	case r.Err != "":
		return fmt.Sprintf("[Process %s cannot be watched any more: %s]", r.ID, r.Err)
	case r.Exit == nil:
		return fmt.Sprintf("[Process %s is running.]", r.ID)
	}
	status := fmt.Sprintf("[Process %s has ended. Exit code: %d]", r.ID, r.Exit.Code)
	if r.Exit.Signal != "" {
		status = fmt.Sprintf("[Process %s has ended, killed by %s.]", r.ID, r.Exit.Signal)
	}
	if remarks := d.Remarks(r); remarks != "" {
		status += "\n" + remarks
	}
	return status
}

// Remarks returns what a model should know about an ended command besides its exit code, or "":
// which limits it reached and what it left running. Without an id only the end of the session kills
// what is left.
func (d Dialect) Remarks(r *tool.Ran) string {
	if r.Exit == nil {
		return ""
	}
	var lines []string
	if limits := r.Exit.Limits; len(limits) > 0 {
		lines = append(lines, fmt.Sprintf(
			"[The command reached its limit: %s. Run it so that it needs less; you cannot raise the limit.]",
			strings.Join(limits, ", ")))
	}
	if len(r.Exit.Left) > 0 {
		lines = append(lines, d.left(r))
	}
	return strings.Join(lines, "\n")
}

// left names what a command left running.
func (d Dialect) left(r *tool.Ran) string {
	how := ""
	if kill := d.word("process"); r.ID != "" && kill != "" {
		how = fmt.Sprintf(", or when %s kills them by the id %s", kill, r.ID)
	}
	return fmt.Sprintf("[The command has ended but left processes running. They end with the session%s:\n  %s]", how,
		strings.Join(r.Exit.Left, "\n  "))
}

// AppendText appends lines to the text of a result.
func AppendText(result tool.Result, end string) tool.Result {
	text := result.Content.Text()
	if text != "" && end != "" && !strings.HasSuffix(text, "\n") {
		end = "\n" + end
	}
	result.Content = llm.TextParts(text + end)
	return result
}

// PrependText puts a text before that of a result.
func PrependText(start string, result tool.Result) tool.Result {
	if result.Gap.Bytes > 0 {
		result.Gap.At += len(start)
	}
	result.Content = llm.TextParts(start + result.Content.Text())
	return result
}
