// Mcp gives a session the tools of an MCP server. The server is this program, started with the
// argument serve.
//
//	$ mcp "When does the next train leave Basel?"
//	[mcp__trains__next] The next train leaves Basel at 10:04.
//	At 10:04.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/mcp"
)

func main() {
	work, task := run, strings.Join(os.Args[1:], " ")
	if task == "serve" {
		work = serve
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := work(ctx, task); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, task string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	trains := mcp.Server{Name: "trains", Command: self, Args: []string{"serve"}, Required: true}
	session, err := attractor.Open(ctx, attractor.Config{Servers: []mcp.Server{trains}, Allow: []string{"mcp__trains"},
		OnEvent: func(event agent.Event) {
			if e, ok := event.(*agent.ToolCallEnd); ok {
				fmt.Printf("[%s] %s\n", e.Name, e.Output)
			}
		}})
	if err != nil {
		return err
	}
	defer session.Close()
	result, err := session.Submit(ctx, task)
	fmt.Println(result.Text) // there is a result, also beside an error
	return err
}

type from struct {
	Station string `json:"station" jsonschema:"where the train leaves"`
}

func serve(ctx context.Context, _ string) error {
	server := sdk.NewServer(&sdk.Implementation{Name: "trains", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "next", Description: "Says when the next train leaves."},
		func(_ context.Context, _ *sdk.CallToolRequest, f from) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "The next train leaves " +
				f.Station + " at 10:04."}}}, nil, nil
		})
	return server.Run(ctx, &sdk.StdioTransport{})
}
