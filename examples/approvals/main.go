// Approvals runs a task, and asks on standard input before a call that changes or runs something.
// Rules decide first: reading inside the directory is allowed, and nothing may be pushed.
//
//	$ printf 'y\nn\n' | approvals "Release the project."
//	Allow shell {"command":"echo 1.2 > VERSION"}? [y/n]
//	[shell] (no output)
//	[shell] 1.2
//	Allow shell {"command":"rm VERSION"}? [y/n]
//	[shell] Error: the call of shell was not permitted: the user said no
//	[shell] Error: the call of shell was not permitted: a rule denies it: Bash(git push:*)
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

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/permit"
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
	answers := bufio.NewScanner(os.Stdin)
	ask := func(_ context.Context, q permit.Question) (permit.Answer, error) {
		fmt.Printf("Allow %s %s? [y/n]\n", q.Call.Name, q.Call.Args)
		if answers.Scan() && strings.TrimSpace(answers.Text()) == "y" {
			return permit.Answer{Verdict: tool.Allow}, nil
		}
		return permit.Answer{Reason: "the user said no"}, answers.Err()
	}
	session, err := attractor.Open(ctx, attractor.Config{Ask: ask, Deny: []string{"Bash(git push:*)"},
		OnEvent: func(e agent.Event) {
			if e, ok := e.(*agent.ToolCallEnd); ok {
				fmt.Printf("[%s] %s\n", e.Name, strings.TrimSpace(e.Output))
			}
		}})
	if err != nil {
		return err
	}
	defer session.Close()
	result, err := session.Submit(ctx, task)
	fmt.Println(result.Text)
	return err
}
