package shell

import (
	"github.com/attractor-go/attractor/internal/script"
)

// The limits of what Parse looks at. Beyond them a script is Unclear.
const (
	maxCommands = 1000
	maxRedirs   = 200 // of one statement
	maxDepth    = 100
	maxWork     = 20_000 // statements visited; those in loops that change the directory are visited twice
	// maxText limits the bytes of scripts and of the words of commands, where those that a wrapper
	// may run count again. It is four times the longest script that is parsed.
	maxText    = 256 << 10
	parserSize = 1 << 10 // what a parser takes for itself
)

// MaxName is the most bytes of the path of a file that Linux can take: twice its PATH_MAX, once for
// the working directory.
const MaxName = 2 * 4096

// Place says where a script runs.
type Place struct {
	Dir  string // the absolute working directory; empty means unknown
	Home string // what ~ stands for; empty means unknown
	// Vars holds the variables of the shell, as NAME=value. If they choose a locale with other
	// characters than UTF-8, a script with any beyond ASCII is Unclear. Nil means that they do not.
	Vars []string
}

// Script describes what a script may run.
type Script struct {
	// Commands holds every simple command, in the order of the text. A command is followed by those
	// in its substitutions.
	Commands []Command
	// Unclear says why the script as a whole cannot be judged; empty means that Commands has all
	// that it may run. An unclear script must not be allowed, but its commands still serve to deny
	// it.
	Unclear string
	// Unread reports that the script, or one in it, cannot be parsed: Commands lacks what it runs.
	// A shell runs what comes before a mistake.
	Unread bool
}

// Command describes a simple command. A redirection or an assignment without a program counts as
// the command ":", which has the same effect.
type Command struct {
	// Words holds the program and its arguments after the removal of quotes. It is never empty.
	// What is not literal stands there as written, and Unclear says so.
	Words []string
	// Globs holds the indexes of the words that are patterns of file names, which the shell
	// replaces by the files that match.
	Globs []int
	// Dir is the absolute directory in which the command runs; empty means unknown. A command that
	// may run in one of several directories is listed for each of them. Names with .. are not
	// simplified, because links may lead elsewhere.
	Dir string
	// Vars holds the names of the variables that the script sets, in front of the command or
	// anywhere else for later commands.
	Vars []string
	// Reads and Writes hold the files of redirections, as absolute paths. /dev/null and copies of
	// descriptors are left out.
	Reads, Writes []string
	// Unclear says why it is not known what exactly the command runs; empty means that it is known.
	Unclear string
	// Wraps reports that the command only runs other commands, which are listed after it, as
	// timeout and sh -c do. If it is not Unclear, only those need to be allowed.
	Wraps bool
	// Hidden reports that the command runs a script that is not literal, as sh -c "$x" does, or
	// stands for what is behind the limits of what Parse looks at.
	Hidden bool
	// Computed reports that it is not known which program runs: its name is not literal, or it is a
	// shell that reads its script from its input.
	Computed bool
	// Subshell reports that the command is in a subshell.
	Subshell bool
	// Text is the command as written, for messages.
	Text string
}

// Parse reads a script. It never fails and never runs anything.
func Parse(text string, at Place) Script {
	w := &walker{at: at}
	w.script(text, scope{dirs: dirs{at.Dir}})
	if otherBytes(text) {
		if why := foreignLocale(at.Vars); why != "" {
			w.fail(why)
		}
	}
	if w.left {
		w.commands = append(w.commands, Command{Words: []string{":"}, Unclear: w.unclear, Hidden: true, Text: "..."})
	}
	for i := range w.commands {
		c := &w.commands[i]
		c.Vars = append(c.Vars, w.assigned...)
	}
	return Script{Commands: w.commands, Unclear: w.unclear, Unread: w.unread}
}

// script parses a script and walks through it. It returns where the script leaves the directory.
func (w *walker) script(text string, in scope) flow {
	w.size += len(text) + parserSize
	file, err := script.Parse(text)
	if err != nil {
		w.fail(err.Error())
		w.unread = true
		return anywhere()
	}
	outer := w.text
	w.text = text
	f := w.stmts(file.Stmts, in)
	w.text = outer
	return f
}
