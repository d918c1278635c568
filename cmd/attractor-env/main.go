package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// Exit codes of the helper itself, as those of env and nohup.
const (
	exitUsage     = 125
	exitCannotRun = 126
	exitNotFound  = 127
)

func main() {
	os.Exit(run(os.Args[1:], os.Stderr))
}

// command is a subcommand of the helper.
type command struct {
	name string
	run  func(args []string) (code int, err error)
}

func commands() []command {
	return []command{{"proxy", runProxy}, {"landlock", runLandlock}, {"scope", runScope}}
}

// run runs a subcommand and returns the exit code.
func run(args []string, stderr io.Writer) int {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
		if len(args) == 0 || args[0] != c.name {
			continue
		}
		code, err := c.run(args[1:])
		if err != nil {
			fmt.Fprintf(stderr, "attractor-env %s: %v\n", c.name, err)
		}
		return code
	}
	fmt.Fprintf(stderr, "usage: attractor-env %s ... -- command [argument...]\nAttractor runs this program inside "+
		"its sandbox; see attractor run --help.\n", strings.Join(names, " | "))
	return exitUsage
}
