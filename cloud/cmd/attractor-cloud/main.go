package main

import (
	"os"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/cloud"
	"github.com/attractor-go/attractor/command"
)

func main() { os.Exit(run()) }

// run runs the command.
func run() int {
	return command.Program{Configure: func(c *attractor.Config) { c.Credentials = cloud.Credentials() }}.Main()
}
