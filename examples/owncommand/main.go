// Owncommand is the command attractor with a tool of one's own. It has all of its subcommands and
// flags.
//
//	$ owncommand run --yes "Is the office open?"
//	Yes, until five.
package main

import (
	"context"
	"os"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/command"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

func main() {
	os.Exit(command.Program{Configure: configure}.Main())
}

// configure gives every session the tool. It could set a policy, providers or telemetry as well.
func configure(c *attractor.Config) {
	c.Options = func(o *agent.Options) { o.Tools = append(o.Tools, hours()) }
}

type day struct {
	Weekday string `json:"weekday" jsonschema:"such as Monday"`
}

func hours() tool.Tool {
	show := tool.New(llm.ToolDefinition{Name: "office_hours", Description: "Says when the office is open."},
		func(_ context.Context, _ *tool.Call, d day) (tool.Result, error) {
			return tool.Text(d.Weekday + ": 9 to 17"), nil
		})
	return tool.WithAccess(show, func(day) tool.Access { return tool.Access{Effect: tool.ReadOnly} })
}
