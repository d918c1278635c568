// Resume runs a task that survives its process: "resume crash" dies in the middle of a tool round,
// and "resume" goes on with what the journal has. The call that may have run is not run again: the
// model is told that its outcome is unknown, and looks.
//
//	$ resume
//	[shell] Error: the session stopped while this call was running, and its outcome is unknown: it may have had no effect, some, or all. It was not run again. Look at the current state before you go on.
//	[shell] started
//	The entry is there.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/tool"
)

func main() {
	c := attractor.Config{Store: journal.NewDir(".sessions"), ID: "log", Allow: []string{"Bash(echo:*)", "Edit(./**)"},
		OnEvent: func(e agent.Event) {
			if e, ok := e.(*agent.ToolCallEnd); ok {
				fmt.Printf("[%s] %s\n", e.Name, strings.TrimSpace(e.Output))
			}
		}}
	if len(os.Args) > 1 && os.Args[1] == "crash" {
		c.Options = func(o *agent.Options) { o.Middleware = append(o.Middleware, crash) }
	}
	if err := run(context.Background(), c); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, c attractor.Config) (err error) {
	session, err := attractor.Open(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }() // what the journal could not keep is an error, too
	// The key keeps the task from being given twice: a program that runs again goes on with it.
	result, err := session.Submit(ctx, "Add an entry to the log.", agent.Key("entry"))
	fmt.Println(result.Text) // there is a result, also beside an error
	return err
}

// crash stands for a power failure: the call has run, but its result is not in the journal yet.
func crash(next tool.Handler) tool.Handler {
	return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
		defer os.Exit(3)
		return next(ctx, call)
	}
}
