// Batch gives the same task to an agent in each of several directories, at most three at a time.
// Each agent may spend half a dollar, and all together two. The lines come in the order of the
// arguments.
//
//	$ batch "What is this?" api web cli
//	api: completed, $0.02: A server.
//	web: budget_usd, $0.50: I have to look further.
//	cli: completed, $0.02: A command.
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
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) < 3 {
		log.Fatal(`usage: batch "TASK" DIRECTORY...`)
	}
	if err := batch(ctx, os.Args[1], os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}

func batch(ctx context.Context, task string, dirs []string) (err error) {
	ledger := agent.NewLedger(agent.Budget{USD: 2})
	free := make(chan struct{}, 3)
	results, errs := make([]*agent.Result, len(dirs)), make([]chan error, len(dirs))
	for i, dir := range dirs {
		errs[i] = make(chan error, 1)
		go func() {
			free <- struct{}{}
			defer func() { <-free }()
			var err error
			results[i], err = work(ctx, ledger, dir, task)
			errs[i] <- err
		}()
	}
	for i, dir := range dirs {
		if failed := <-errs[i]; failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", dir, failed)) // the others go on
			continue
		}
		fmt.Printf("%s: %s, $%.2f: %s\n", filepath.Base(dir), results[i].Reason, results[i].CostUSD, results[i].Text)
	}
	return err
}

// work runs a session in one directory. The sessions share the ledger.
func work(ctx context.Context, ledger agent.Ledger, dir, task string) (*agent.Result, error) {
	session, err := attractor.Open(ctx, attractor.Config{Dir: dir, Budget: agent.Budget{USD: 0.5},
		Options: func(o *agent.Options) { o.Ledger = ledger }})
	if err != nil {
		return nil, err
	}
	defer session.Close()
	return session.Submit(ctx, task)
}
