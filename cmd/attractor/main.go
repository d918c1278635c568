package main

import (
	"os"

	"github.com/attractor-go/attractor/command"
)

func main() { os.Exit(command.Program{}.Main()) }
