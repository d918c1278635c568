package cli

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor/internal/render"
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

// fold breaks the lines of prose and descriptions of flags that are wider than width at their
// spaces. The other indented lines, such as examples, stay whole, because people copy them.
func fold(text string, width int) string {
	var b strings.Builder
	prose := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line != "" && !strings.ContainsAny(line[:1], " \t") {
			prose = strings.TrimSpace(prose + " " + line)
			continue
		}
		if prose != "" {
			fmt.Fprintln(&b, render.Style{Width: width}.Prose(prose))
			prose = ""
		}
		if at := strings.LastIndex(line, "  ") + 2; at <= width/2 && strings.HasPrefix(strings.TrimLeft(line, " "),
			"-") {
			about := render.Style{Width: width - at}.Prose(line[at:])
			line = line[:at] + strings.ReplaceAll(about, "\n", "\n"+strings.Repeat(" ", at))
		}
		fmt.Fprintln(&b, line)
	}
	if prose != "" {
		fmt.Fprintln(&b, render.Style{Width: width}.Prose(prose))
	}
	return b.String()
}
