// Command attractor-fleet runs tasks, each a coding session, on one machine or many.
package main

import (
	"os"

	"github.com/attractor-go/attractor/fleet/internal/command"
)

func main() { os.Exit(command.Main()) }
