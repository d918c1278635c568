package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/llm/llmtest"
)

// roles returns the servers that the test binary can be.
func roles() map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"padded":   func(context.Context) error { return padded() },
		"tasks":    func(context.Context) error { return tasks() },
		"lab":      func(ctx context.Context) error { return lab(ctx, nil) },
		"legacy":   func(ctx context.Context) error { return lab(ctx, []string{"2025-11-25"}) },
		"late":     late,
		"raw":      func(context.Context) error { return raw(false) },
		"deaf":     func(context.Context) error { return raw(true) },
		"old":      func(context.Context) error { return old(false) },
		"brittle":  func(context.Context) error { return old(true) },
		"noisy":    noisy,
		"broken":   func(context.Context) error { return errors.New("no database at this place") },
		"silent":   func(context.Context) error { time.Sleep(time.Hour); return nil },
		"huge":     huge,
		"many":     many,
		"door":     func(context.Context) error { return door() },
		"mute":     func(context.Context) error { return mute() },
		"giver":    func(context.Context) error { return giver() },
		"restless": func(context.Context) error { return restless() },
	}
}

type nothing struct{}

func said(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

const png = llmtest.PNG

// lab is a server with a tool for each thing that a server can do.
func lab(ctx context.Context, versions []string) error {
	cancelled := make(chan struct{})
	told := make(chan struct{}, 10) // has an element for each time that the client was told of another list
	s := sdk.NewServer(&sdk.Implementation{Name: "lab", Version: "1"},
		&sdk.ServerOptions{Instructions: "Measure before you weigh.", SupportedProtocolVersions: versions})
	sdk.AddTool(s, &sdk.Tool{Name: "measure", Description: "Measures.\u200b"},
		func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, map[string]int, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "42 degrees"},
					&sdk.ImageContent{MIMEType: "image/png", Data: []byte(png)},
					&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("RIFF")},
					&sdk.ResourceLink{URI: "lab://log", Name: "the\nlog"},
					&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "lab://note", Text: "a note"}}}},
				map[string]int{"degrees": 42}, nil
		})
	s.AddSendingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			result, err := next(ctx, method, req)
			if method == "notifications/tools/list_changed" {
				told <- struct{}{}
			}
			return result, err
		}
	})
	sdk.AddTool(s, &sdk.Tool{Name: "only-structure"}, func(context.Context, *sdk.CallToolRequest,
		nothing) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{}, StructuredContent: map[string]int{"n": 1}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "book"}, book)
	sdk.AddTool(s, &sdk.Tool{Name: "calibrate"}, func(context.Context, *sdk.CallToolRequest,
		nothing) (*sdk.CallToolResult, any, error) {
		s.RemoveTools("measure")
		sdk.AddTool(s, &sdk.Tool{Name: "weigh"}, func(context.Context, *sdk.CallToolRequest,
			nothing) (*sdk.CallToolResult, any, error) {
			return said("1 kg"), nil, nil
		})
		<-told
		return said("calibrated"), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "die"}, func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult,
		any, error) {
		fmt.Fprintln(os.Stderr, "out of \x1b[31mmercury")
		os.Exit(7)
		return nil, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "wait"}, func(ctx context.Context, r *sdk.CallToolRequest,
		_ nothing) (*sdk.CallToolResult, any, error) {
		err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(),
			Progress: 1, Total: 3, Message: "waiting\x1b[2J"})
		<-ctx.Done()
		close(cancelled)
		return nil, nil, err
	})
	sdk.AddTool(s, &sdk.Tool{Name: "was-cancelled"}, func(context.Context, *sdk.CallToolRequest,
		nothing) (*sdk.CallToolResult, any, error) {
		<-cancelled
		return said("yes"), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "fail"}, func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult,
		any, error) {
		return nil, nil, errors.New("the scale is broken")
	})
	sdk.AddTool(s, &sdk.Tool{Name: "think"}, func(ctx context.Context, r *sdk.CallToolRequest,
		_ nothing) (*sdk.CallToolResult, any, error) {
		//lint:ignore SA1019 servers still do this
		_, err := r.Session.CreateMessage(ctx, &sdk.CreateMessageParams{MaxTokens: 10,
			//lint:ignore SA1019 as above
			Messages: []*sdk.SamplingMessage{}})
		return said(fmt.Sprint(err)), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "look", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, any, error) {
			return said("seen"), nil, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "enter"}, enter)
	sdk.AddTool(s, &sdk.Tool{Name: "trace"}, trace)
	s.AddResource(&sdk.Resource{URI: "lab://log", Name: "log", MIMEType: "text/plain"},
		func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "lab://log", Text: "all is well"},
				{URI: "lab://blob", MIMEType: "application/zip", Blob: []byte("PK")}}}, nil
		})
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "lab://day/{day}", Name: "days"},
		func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return nil, errors.New("no such day")
		})
	s.AddPrompt(&sdk.Prompt{Name: "report on", Description: "Writes a report.",
		Arguments: []*sdk.PromptArgument{{Name: "what", Required: true}}},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user",
				Content: &sdk.TextContent{Text: "Report on\u200b " + r.Params.Arguments["what"]}},
				{Role: "assistant", Content: &sdk.TextContent{Text: "Gladly."}}}}, nil
		})
	return s.Run(ctx, &sdk.StdioTransport{})
}

// trace returns the trace context that a request has.
func trace(_ context.Context, r *sdk.CallToolRequest, _ nothing) (*sdk.CallToolResult, any, error) {
	return said(fmt.Sprint(r.Params.Meta["traceparent"], " ", r.Params.Meta["tracestate"])), nil, nil
}

// enter wants the person to open an address first.
func enter(_ context.Context, r *sdk.CallToolRequest, _ nothing) (*sdk.CallToolResult, any, error) {
	if answer, ok := r.Params.InputResponses["go"].(*sdk.ElicitResult); ok {
		return said(answer.Action), nil, nil
	}
	return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"go": &sdk.ElicitParams{Mode: "url",
		Message: "Log in.", URL: "https://example.com/login?x=1", ElicitationID: "1"}}}, nil, nil
}

// book asks a person for a day: within the protocol of 2026-07-28 by an unfinished result, before
// it by a request.
func book(ctx context.Context, r *sdk.CallToolRequest, _ nothing) (*sdk.CallToolResult, any, error) {
	ask := &sdk.ElicitParams{Mode: "form", Message: "Which\u202e day?", RequestedSchema: json.RawMessage(
		`{"type":"object","properties":{"day":{"type":"string"}},"required":["day"]}`)}
	if answer, ok := r.Params.InputResponses["day"].(*sdk.ElicitResult); ok {
		return said(fmt.Sprintf("%s %v", answer.Action, answer.Content["day"])), nil, nil
	}
	return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"day": ask}}, nil, nil
}

// request is a message to a server that is made of lines.
type request struct {
	ID     any
	Method string
	Params struct {
		Name      string
		Arguments json.RawMessage
	}
}

// answer runs a server. f returns the result of a request, or "" if there is none.
func answer(f func(m *request) (result string)) error {
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		var m request
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		if result := f(&m); result != "" {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", must(json.Marshal(m.ID)), result)
		}
	}
}

// old is a server that knows only initialize. It leaves other requests before that without an
// answer, or ends with the first of them.
func old(brittle bool) error {
	begun := false
	return answer(func(m *request) string {
		switch {
		case m.Method == "initialize":
			begun = true
			return `{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"0"}}`
		case !begun && brittle:
			os.Exit(4)
		case m.Method == "tools/list":
			return `{"tools":[{"name":"echo","inputSchema":{"type":"object"}},{"name":"echo","inputSchema":{"type":"object"}}]}`
		case m.Method == "tools/call":
			return `{"content":[{"type":"text","text":` + string(must(json.Marshal(string(m.Params.Arguments)))) + `}]}`
		}
		return ""
	})
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

// noisy is a lab that prints other things on its output.
func noisy(ctx context.Context) error {
	fmt.Println("Welcome to the lab!\n\n{\"level\":\"info\",\"msg\":\"ready\"}\n[]\n[1]\nnull")
	return lab(ctx, nil)
}

// late is a lab that starts when somebody opens a named pipe.
func late(ctx context.Context) error {
	gate, err := os.Open(os.Getenv("GATE"))
	switch {
	case errors.Is(err, os.ErrNotExist): // it is started again
	case err != nil:
		return err
	default:
		err = gate.Close()
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return lab(ctx, nil)
}

// huge sends a message without end.
func huge(context.Context) error {
	w := bufio.NewWriter(os.Stdout)
	for {
		if _, err := w.WriteString(strings.Repeat("a", 1<<16)); err != nil {
			return err
		}
	}
}

// door is a server whose tool fails at first, because a person has to open addresses. The call says
// what the error has as data.
func door() error {
	tries := 0
	return answer(func(m *request) string {
		switch m.Method {
		case "server/discover":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"what?"}}`+"\n",
				must(json.Marshal(m.ID)))
		case "initialize":
			return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"door","version":"0"}}`
		case "tools/list":
			return `{"tools":[{"name":"enter","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			var args struct{ Data json.RawMessage }
			if err := json.Unmarshal(m.Params.Arguments, &args); err != nil {
				panic(err)
			}
			if tries++; len(args.Data) > 0 && tries%2 == 1 {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32042,"message":"closed\u202e","data":%s}}`+"\n",
					must(json.Marshal(m.ID)), args.Data)
				return ""
			}
			return fmt.Sprintf(`{"content":[{"type":"text","text":"in after %d tries"}]}`, tries)
		}
		return ""
	})
}

// restless is a server whose list changes with each call: grow adds a tool, and turn changes
// whether turn only reads.
func restless() error {
	grown, reads := 0, false
	return answer(func(m *request) string {
		switch m.Method {
		case "initialize":
			return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"restless","version":"0"}}`
		case "tools/list":
			list := fmt.Sprintf(`{"tools":[{"name":"grow","inputSchema":{"type":"object"}},`+
				`{"name":"turn","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":%t}}`, reads)
			for i := range grown {
				list += fmt.Sprintf(`,{"name":"t%d","inputSchema":{"type":"object"}}`, i)
			}
			return list + "]}"
		case "tools/call":
			switch m.Params.Name {
			case "grow":
				grown++
			case "turn":
				reads = !reads
			}
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			return `{"content":[{"type":"text","text":"ok"}]}`
		}
		return ""
	})
}

// mute is a server that closes its output during its first call and goes on running.
func mute() error {
	return answer(func(m *request) string {
		switch m.Method {
		case "initialize":
			return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"mute","version":"0"}}`
		case "tools/list":
			return `{"tools":[{"name":"hush","inputSchema":{"type":"object"}},{"name":"research","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},` +
				`{"name":"either","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}`
		case "tools/call":
			if err := os.Stdout.Close(); err != nil {
				panic(err)
			}
			time.Sleep(time.Hour)
		}
		return ""
	})
}

// giver is a server whose tool has the result that its call says.
func giver() error {
	return answer(func(m *request) string {
		switch m.Method {
		case "server/discover":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"what?"}}`+"\n",
				must(json.Marshal(m.ID)))
		case "initialize":
			return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"giver","version":"0"}}`
		case "tools/list":
			return `{"tools":[{"name":"give","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			var args struct{ Result json.RawMessage }
			if err := json.Unmarshal(m.Params.Arguments, &args); err != nil {
				panic(err)
			}
			return string(args.Result)
		}
		return ""
	})
}
