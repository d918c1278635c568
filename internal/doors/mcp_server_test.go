package doors_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"sync/atomic"
)

// mcpServer runs a small server of the Model Context Protocol on stdin and stdout. Its tools change when one of them is called.
func mcpServer() int {
	var changed atomic.Bool
	p := &peers{prefix: "s", out: os.Stdout}
	p.on = func(ctx context.Context, m message) (any, error) {
		switch m.Method {
		case "initialize":
			return map[string]any{"serverInfo": map[string]string{"name": "lab"}}, nil
		case "tools/list":
			return map[string]any{"tools": mcpTools(changed.Load())}, nil
		case "tools/call":
			var call struct{ Name string }
			if err := json.Unmarshal(m.Params, &call); err != nil {
				return nil, err
			}
			switch call.Name {
			case "measure":
				return map[string]any{"content": []any{map[string]string{"type": "text", "text": "42 degrees"},
					map[string]string{"type": "image", "mimeType": "image/png", "data": base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"))}},
					"structuredContent": map[string]int{"degrees": 42}}, nil
			case "book":
				return book(ctx, p)
			case "calibrate":
				changed.Store(true)
				return said("calibrated"), p.notify("notifications/tools/list_changed", nil)
			case "weigh":
				return said("1 kg"), nil
			}
		}
		return nil, errors.New("no method or tool of that name")
	}
	p.serve(context.Background(), os.Stdin)
	return 0
}

// book asks a person for a date.
func book(ctx context.Context, p *peers) (any, error) {
	var answer struct {
		Action  string
		Content struct{ Day string }
	}
	err := p.call(ctx, "elicitation/create", map[string]any{"message": "Which day?", "requestedSchema": json.RawMessage(
		`{"type":"object","properties":{"day":{"type":"string"}},"required":["day"]}`)}, &answer)
	return said("the person chose to " + answer.Action + answer.Content.Day), err
}

func said(text string) any {
	return map[string]any{"content": []any{map[string]string{"type": "text", "text": text}}}
}

func mcpTools(changed bool) (tools []any) {
	names := []string{"measure", "book", "calibrate"}
	if changed {
		names = []string{"book", "calibrate", "weigh"}
	}
	for _, name := range names {
		tools = append(tools, map[string]any{"name": name, "description": "Does " + name + ".", "inputSchema": json.RawMessage(`{"type":"object"}`)})
	}
	return tools
}
