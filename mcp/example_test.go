package mcp_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/profile"
)

type station struct {
	Name string `json:"name"`
}

// trains returns a server of the protocol with one tool.
func trains() *httptest.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "trains", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "next", Description: "Says when the next train leaves a station."},
		func(_ context.Context, _ *sdk.CallToolRequest, s station) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "The next train leaves " + s.Name +
				" at 10:04."}}}, nil, nil
		})
	return httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
}

// A session uses the tools of a server.
func ExampleStart() {
	ctx := context.Background()
	remote := trains()
	defer remote.Close()

	servers := mcp.Start(ctx, mcp.Options{
		Servers: []mcp.Server{{Name: "trains", URL: remote.URL, Required: true}},
		Warn:    func(server string, err error) { log.Print(server, ": ", err) },
	})
	defer servers.Close()
	if err := servers.Ready(ctx); err != nil { // waits for the required ones
		log.Fatal(err)
	}
	model := llmtest.NewProvider("test",
		llmtest.Calls(llmtest.Call("mcp__trains__next", map[string]string{"name": "Basel"})), llmtest.Text("At 10:04."))
	session, err := agent.New(ctx, agent.Options{
		Client:  &llm.Client{Providers: []llm.Provider{model}},
		Profile: profile.Profile{Name: "test", Provider: "test", Model: "model-1", Prompt: "You know trains."},
		Env:     envtest.NewMemory(nil),
		Tools:   servers.Tools(),
		OnEvent: func(event agent.Event) {
			if e, ok := event.(*agent.ToolCallEnd); ok {
				fmt.Printf("%s: %s\n", e.Name, e.Output)
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	defer servers.Join(session)() // brings the tools of servers that start later, and changes

	result, err := session.Submit(ctx, "When does the next train leave Basel?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text)
	// Output:
	// mcp__trains__next: The next train leaves Basel at 10:04.
	// At 10:04.
}

// Read a file such as .mcp.json. Here a key is not set, so one server is off.
func ExampleParse() {
	file := mcp.File{Name: ".mcp.json", Origin: mcp.Project, Data: []byte(`{"mcpServers": {
		"files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]},
		"work":  {"url": "https://mcp.example.com/mcp", "headers": {"Authorization": "Bearer ${WORK_TOKEN}"}}
	}}`)}
	servers, problems, err := mcp.Parse(file)
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range servers {
		fmt.Println(s.Name, !s.Off)
	}
	for _, p := range problems {
		fmt.Println(p)
	}
	// Output:
	// files true
	// work false
	// .mcp.json, line 3: the server work: Authorization: the variable WORK_TOKEN is not set; set it, or write ${WORK_TOKEN:-default}
}
