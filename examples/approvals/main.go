// Approvals runs a task, and asks on standard input before a call that changes or runs something. Rules decide first: reading inside the directory
// is allowed, and nothing may be pushed.
//
//	$ printf 'y\nn\n' | approvals "Release the project."
//	Allow shell {"command":"echo 1.2 > VERSION"}? [y/n]
//	[shell] (no output)
//	[shell] 1.2
//	Allow shell {"command":"rm VERSION"}? [y/n]
//	[shell] Error: the call of shell was not permitted: the user said no
//	[shell] Error: the call of shell was not permitted: a person pushes (Bash(git push:*))
//	The version is 1.2, and not yet pushed.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/profile/anthropic"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, strings.Join(os.Args[1:], " ")); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, task string) error {
	client, err := providers.FromEnv(os.Getenv)
	if err != nil {
		return err
	}
	local, err := env.NewLocal(".", env.LocalOptions{})
	if err != nil {
		return err
	}
	defer local.Close()
	set, err := rules.Load(rules.Dirs{Work: local.WorkDir()}, rules.Source{Name: "built in", Data: []byte(
		`{"permissions": {"deny": [{"rule": "Bash(git push:*)", "reason": "a person pushes"}]}}`)})
	if err != nil {
		return err
	}
	o := agent.Options{Client: client, Profile: anthropic.Profile(), Env: local, OnEvent: func(e agent.Event) {
		if e, ok := e.(*agent.ToolCallEnd); ok {
			fmt.Printf("[%s] %s\n", e.Name, strings.TrimSpace(e.Output))
		}
	}}
	gate := permit.NewGate(permit.ModeAsk, set, local)
	answers := bufio.NewScanner(os.Stdin)
	gate.Ask = func(_ context.Context, q permit.Question) (permit.Answer, error) {
		fmt.Printf("Allow %s %s? [y/n]\n", q.Call.Name, q.Call.Args)
		if answers.Scan() && strings.TrimSpace(answers.Text()) == "y" {
			return permit.Answer{Verdict: tool.Allow}, nil
		}
		return permit.Answer{Reason: "the user said no"}, answers.Err()
	}
	o.Authorize, o.Approve, o.Middleware = gate.Authorize, gate.Approve, []tool.Middleware{gate.Middleware}
	session, err := agent.New(ctx, o)
	if err != nil {
		return err
	}
	defer session.Close()
	result, err := session.Submit(ctx, task)
	fmt.Println(result.Text)
	return err
}
