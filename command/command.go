package command

import (
	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/internal/cli"
)

// Program is the command with parts of one's own. The zero value is attractor.
type Program struct {
	// Configure changes the configuration that a command has made of its flags, for all sessions of
	// the process: what it sets counts before flags, variables and files. It is called once, by
	// run, chat and acp; demo takes its Instrument. Ask, Inbox, OnEvent and ID are the command's
	// own. Nil changes nothing.
	Configure func(*attractor.Config)
}

// Main runs the command line of the process and returns its exit code.
func (p Program) Main() int { return cli.Program{Configure: p.Configure}.Main() }
