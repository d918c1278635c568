package tool_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

type lineArgs struct {
	Path string `json:"path" jsonschema:"the file"`
	Line string `json:"line" jsonschema:"the line"`
}

// writeLine returns a tool: a definition, a function, and what a call would touch.
func writeLine() tool.Tool {
	t := tool.New(llm.ToolDefinition{Name: "write_line", Description: "Writes a file of one line."},
		func(ctx context.Context, c *tool.Call, args lineArgs) (tool.Result, error) {
			if err := c.Env.WriteFile(ctx, args.Path, []byte(args.Line+"\n"), 0o644); err != nil {
				return tool.Result{}, err // the model reads it
			}
			return tool.Text("Written."), nil
		})
	return tool.WithAccess(t, func(args lineArgs) tool.Access {
		return tool.Access{Effect: tool.Writes, Paths: []string{args.Path}}
	})
}

// A tool is a Go function with a struct for its arguments. A registry runs a call of it as a
// session does.
func ExampleNew() {
	registry, err := tool.NewRegistry(writeLine())
	if err != nil {
		fmt.Println(err)
		return
	}
	e := envtest.NewMemory(nil)
	for _, args := range []string{`{"path":"notes.txt","line":"hello"}`, `{"path":"notes.txt"}`} {
		o := registry.Run(context.Background(), llm.ToolCall{ID: "1", Name: "write_line", Args: args},
			tool.Call{Env: e}, nil)
		fmt.Println(o.IsError, o.Model.Text())
	}
	fmt.Print(e.Files()["notes.txt"])
	// Output:
	// false Written.
	// true Error: invalid arguments for write_line: parameter "line" is missing; it is required (a string). Nothing was run. Call it again with corrected arguments.
	// hello
}

// A middleware wraps every call that was permitted. This one makes a directory read-only for calls,
// and tells the model so.
func ExampleMiddleware() {
	frozen := func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
			if len(c.Access.Paths) == 0 || !strings.HasPrefix(c.Access.Paths[0], "/work/vendor/") {
				return next(ctx, c)
			}
			other := *c
			other.Env = env.ReadOnly(c.Env)
			result, err := next(ctx, &other)
			if err != nil {
				err = fmt.Errorf("%w; vendor/ is generated, change go.mod instead", err)
			}
			return result, err
		}
	}
	registry, err := tool.NewRegistry(writeLine())
	if err != nil {
		fmt.Println(err)
		return
	}
	e := envtest.NewMemory(nil)
	for _, path := range []string{"main.go", "vendor/main.go"} {
		call := llm.ToolCall{ID: "1", Name: "write_line", Args: fmt.Sprintf(`{"path":%q,"line":"// x"}`, path)}
		o := registry.Run(context.Background(), call, tool.Call{Env: e}, nil, frozen)
		fmt.Println(o.Model.Text())
	}
	// Output:
	// Written.
	// Error: write vendor/main.go: the environment is read-only: permission denied; vendor/ is generated, change go.mod instead
}

// Several hooks decide about a call in order. If a hook changes the arguments, they are validated
// before the next hook is asked.
func ExampleAuthorizeAll() {
	onlyText := func(_ context.Context, req tool.Request) (tool.Decision, error) {
		for _, path := range req.Access.Paths {
			if !strings.HasSuffix(path, ".txt") {
				return tool.Decision{Reason: "only text files may be changed"}, nil
			}
		}
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	shout := func(_ context.Context, req tool.Request) (tool.Decision, error) {
		return tool.Decision{Verdict: tool.Allow, Args: strings.ReplaceAll(req.Call.Args, "hello", "HELLO")}, nil
	}
	registry, err := tool.NewRegistry(writeLine())
	if err != nil {
		fmt.Println(err)
		return
	}
	e := envtest.NewMemory(nil)
	for _, path := range []string{"notes.txt", "main.go"} {
		call := llm.ToolCall{ID: "1", Name: "write_line", Args: fmt.Sprintf(`{"path":%q,"line":"hello"}`, path)}
		fmt.Println(registry.Run(context.Background(), call, tool.Call{Env: e},
			tool.AuthorizeAll(shout, onlyText)).Model.Text())
	}
	fmt.Print(e.Files()["notes.txt"])
	// Output:
	// Written.
	// Error: the call of write_line was not permitted: only text files may be changed
	// HELLO
}
