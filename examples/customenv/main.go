// Customenv lets the agent change only files below docs, by an environment of its own around the
// local one.
//
//	$ customenv "Write a guide, and mention it in main.go."
//	I wrote the guide, but may not change main.go.
//	writes refused: 1
package main

import (
	"context"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/permit"
)

// writesBelow adds writes below one directory to a read-only environment, so commands and all other
// changes stay refused.
type writesBelow struct {
	env.Base // read-only
	writable env.Environment
	dir      string // absolute and without links
	refused  atomic.Int64
}

func (w *writesBelow) WriteFile(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	// Writing follows links, so what counts is where the name leads.
	if real, err := w.Resolve(ctx, name); err != nil || !strings.HasPrefix(real, w.dir+"/") {
		w.refused.Add(1)
		return fmt.Errorf("only files below %s may be changed: %w", w.dir, fs.ErrPermission)
	}
	return w.writable.WriteFile(ctx, name, data, perm)
}

// Confinement tells the model beforehand where it may write.
func (w *writesBelow) Confinement() env.Confinement {
	c := w.Base.Confinement()
	c.Writable = []string{w.dir}
	return c
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, strings.Join(os.Args[1:], " ")); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, task string) error {
	local, err := env.NewLocal(".", env.LocalOptions{})
	if err != nil {
		return err
	}
	defer local.Close()
	docs, err := local.Resolve(ctx, "docs")
	if err != nil {
		return err
	}
	guarded := &writesBelow{Base: env.Base{Environment: env.ReadOnly(local)}, writable: local, dir: docs}
	session, err := attractor.Open(ctx, attractor.Config{Env: guarded, Mode: permit.ModeFull})
	if err != nil {
		return err
	}
	defer session.Close()
	result, err := session.Submit(ctx, task)
	fmt.Printf("%s\nwrites refused: %d\n", result.Text, guarded.refused.Load())
	return err
}
