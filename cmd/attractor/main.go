package main

import (
	"os"

	"github.com/attractor-go/attractor/internal/cli"
)

func main() { os.Exit(cli.Program{}.Main()) }
