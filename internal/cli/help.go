package cli

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// newHelp returns the command help. Cobra's own shows the help of attractor for a command that does
// not exist.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Show the help of a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usage(cmd.Root(), fmt.Errorf("unknown command %q", strings.Join(args, " ")))
			}
			return about.Help()
		},
	}
}

// minHelpWidth is the least width to which help is folded. A narrower terminal breaks the lines
// itself.
const minHelpWidth = 50

// foldedHelp returns a function that shows the help of a command as plain does, with lines that fit
// on the terminal if standard output is one.
func foldedHelp(t terminal, plain func(*cobra.Command, []string)) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, args []string) {
		width := widthOf(t.out)
		if width < minHelpWidth {
			plain(cmd, args)
			return
		}
		var text bytes.Buffer
		root := cmd.Root()
		root.SetOut(&text)
		plain(cmd, args)
		root.SetOut(t.out)
		fmt.Fprint(t.out, fold(text.String(), width))
	}
}

// fold breaks the lines of a text that are wider than width at their spaces. The rest of a line of
// prose goes on with the next line, and that of a line about a flag or a command begins below its
// description. Words longer than a line stay whole, and so do other indented lines, such as examples,
// because people copy them.
func fold(text string, width int) string {
	described := regexp.MustCompile(`^ +(-\S, )?(--)?\S+( \S+)? {2,}`)
	var b strings.Builder
	rest := "" // of a line of prose
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		prose := line != "" && !strings.HasPrefix(line, " ")
		goesOn := prose && rest != ""
		if goesOn {
			line = rest + " " + line
		} else if rest != "" {
			fmt.Fprintln(&b, rest)
		}
		rest = ""
		indent := utf8.RuneCountInString(described.FindString(line))
		if indent > width/2 {
			indent = 4
		}
		whole := indent == 0 && strings.HasPrefix(line, " ")
		for !whole && utf8.RuneCountInString(line) > width {
			at := breakAt(line, indent, width)
			if at < 0 {
				break
			}
			fmt.Fprintln(&b, strings.TrimRight(line[:at], " "))
			line = strings.Repeat(" ", indent) + line[at+1:]
			goesOn = prose
		}
		if goesOn {
			rest = line
			continue
		}
		fmt.Fprintln(&b, line)
	}
	if rest != "" {
		fmt.Fprintln(&b, rest)
	}
	return b.String()
}

// breakAt returns the index of the last space of a line that is after its indent and within the
// width, else of the first one beyond the width, or -1.
func breakAt(line string, indent, width int) int {
	best, column := -1, 0
	for i, r := range line {
		if r == ' ' && column > indent && strings.TrimLeft(line[i:], " ") != "" {
			if column > width && best >= 0 {
				break
			}
			best = i
			if column > width {
				break
			}
		}
		column++
	}
	return best
}
