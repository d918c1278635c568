package command_test

import (
	"fmt"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/command"
)

// The command of a team whose sessions have a budget of two dollars.
func ExampleProgram() {
	program := command.Program{Configure: func(c *attractor.Config) { c.Budget.USD = 2 }}
	// func main() { os.Exit(program.Main()) }

	var c attractor.Config // as a subcommand would have made it of its flags
	program.Configure(&c)
	fmt.Println(c.Budget.USD)
	// Output: 2
}
