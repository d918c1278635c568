package acp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/attractor-go/attractor/acp"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile/anthropic"
	"github.com/attractor-go/attractor/tool"
)

// serveEditor is a program for editors: it opens a session in each directory that the editor asks
// for, and asks the editor before anything is changed. Its main function passes os.Stdin and
// os.Stdout.
func serveEditor(ctx context.Context, client *llm.Client, in io.Reader, out io.Writer) error {
	a := &acp.Agent{Name: "example", Version: "1.0", Open: func(ctx context.Context, o acp.Opening) (*acp.Session,
		error) {
		local, err := env.NewLocal(o.Dir, env.LocalOptions{})
		if err != nil {
			return nil, err
		}
		s, err := agent.New(ctx, agent.Options{Client: client, Profile: anthropic.Profile(), Env: local,
			OnEvent:   o.Client.Event,
			Questions: o.Client.Questions(), Hooks: agent.Hooks{Authorize: askAboutChanges, Approve: o.Client.Approve}})
		if err != nil {
			return nil, err
		}
		return &acp.Session{Agent: s, Close: local.Close}, nil
	}}
	return a.Serve(ctx, in, out)
}

func askAboutChanges(_ context.Context, req tool.Request) (tool.Decision, error) {
	if req.Access.Effect == tool.ReadOnly {
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	return tool.Decision{Verdict: tool.Ask}, nil
}

// An editor starts a session and gives it a prompt. It is asked before a file is written.
func Example() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	model := llmtest.NewProvider("anthropic", // in a real program, a client of llm/providers
		llmtest.Calls(llmtest.Call("write_file", `{"file_path":"greet.txt","content":"Hello!\n"}`)),
		llmtest.Text("Written."))
	toAgent, editorOut := io.Pipe()
	editorIn, fromAgent := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- serveEditor(context.Background(), &llm.Client{Providers: []llm.Provider{model}}, toAgent, fromAgent)
	}()

	e := editorLines{editorOut, bufio.NewScanner(editorIn)}
	e.call(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}`)
	opened := e.call(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`,
		dir))
	fmt.Println(e.call(fmt.Sprintf(
		`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"greet"}]}}`,
		opened["sessionId"])))
	editorOut.Close()
	fmt.Println(<-served)
	// Output:
	// session_info_update <nil>
	// tool_call pending
	// allow? Edit `greet.txt`
	// tool_call_update in_progress
	// tool_call_update completed
	// agent_message_chunk <nil>
	// map[stopReason:end_turn]
	// <nil>
}

// editorLines is an editor: lines of JSON to the agent, and from it.
type editorLines struct {
	to   io.Writer
	from *bufio.Scanner
}

// call sends a request and returns its result. It prints the updates that come before, and allows
// what it is asked about.
func (e editorLines) call(request string) map[string]any {
	if _, err := fmt.Fprintln(e.to, request); err != nil {
		log.Fatal(err)
	}
	for e.from.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Update, ToolCall map[string]any }
			Result map[string]any
		}
		if err := json.Unmarshal(e.from.Bytes(), &m); err != nil {
			log.Fatal(err)
		}
		switch {
		case m.Method == "session/request_permission":
			fmt.Println("allow?", m.Params.ToolCall["title"])
			fmt.Fprintf(e.to, `{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":"yes"}}}`+
				"\n", m.ID)
		case m.Method != "":
			fmt.Println(m.Params.Update["sessionUpdate"], m.Params.Update["status"])
		default:
			return m.Result
		}
	}
	return nil
}
