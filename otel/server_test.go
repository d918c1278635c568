package otel_test

import (
	"context"
	"fmt"
	"os"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// serverVar is the variable that makes the test binary an MCP server.
const serverVar = "OTEL_TEST_SERVER"

// runServer serves a tool that says which trace its request belongs to.
func runServer() int {
	s := sdk.NewServer(&sdk.Implementation{Name: "lab", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "trace"}, func(_ context.Context, r *sdk.CallToolRequest,
		_ struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint(
			r.Params.Meta["traceparent"])}}}, nil, nil
	})
	if err := s.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
