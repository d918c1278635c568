// Cibot lets an agent repair a checkout until a command passes, and writes the change as a patch.
//
//	$ cibot checkout "sh test.sh" fix.patch
//	It should greet now.
//	sh test.sh fails with code 1
//	The comma was missing.
//	sh test.sh passes after 4 turns
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/permit"
)

func main() {
	if len(os.Args) != 4 {
		log.Fatal(`usage: cibot CHECKOUT "COMMAND" PATCH`)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := repair(ctx, os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

func repair(ctx context.Context, dir, test, patch string) error {
	patch, err := filepath.Abs(patch)                      // the commands run in the checkout
	if err = errors.Join(err, env.Conceal()); err != nil { // which keeps them from the keys in this process's memory
		return err
	}
	local, err := env.NewLocal(dir, env.LocalOptions{})
	if err != nil {
		return err
	}
	defer local.Close()
	config := attractor.Config{Dir: dir, Mode: permit.ModeFull, Budget: agent.Budget{USD: 2}}
	config.Options = func(o *agent.Options) {
		o.MaxConfirms, o.BeforeStop = 3, func(ctx context.Context, stop agent.Stop) (string, error) {
			failure, err := run(ctx, local, test)
			fmt.Printf("%s\n%s", stop.Text, failure)
			return failure, err // a failure sends the agent back to work
		}
	}
	session, err := attractor.Open(ctx, config)
	if err != nil {
		return err
	}
	defer session.Close()
	result, err := session.Submit(ctx, fmt.Sprintf("Repair what makes %q fail. Do not change the test.", test))
	if err != nil {
		return err
	}
	script := "(" + test + "\n) && git add --intent-to-add . && git diff --binary HEAD >\"$PATCH\""
	failure, err := run(ctx, local, script, "PATCH="+patch) // it counts: a budget may end the work before the hook
	if failure != "" {
		err = fmt.Errorf("no patch, %s: %s", result.Reason, failure)
	} else if err == nil {
		fmt.Printf("%s passes after %d turns\n", test, result.Turns)
	}
	return err
}

// run runs a script, and returns what the model has to know if it fails.
func run(ctx context.Context, e env.Environment, script string, vars ...string) (failure string, err error) {
	out, result, err := env.Output(ctx, e, env.Command{Script: script, Env: vars}, env.MaxTimeout)
	if err != nil || result.Code == 0 && !result.TimedOut {
		return "", err
	}
	return fmt.Sprintf("%s fails with code %d\n%s", script, result.Code, out), nil
}
