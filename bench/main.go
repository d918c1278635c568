package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench holds what all parts of a run share.
type bench struct {
	ctx       context.Context
	temp      string
	module    string // the directory of this module
	built     map[string]string
	models    *models
	url       string // of the models
	runs      int    // the runs of each agent
	rounds    int    // the rounds of a session
	times     int    // the runs of each benchmark
	benchtime string
	quick     bool
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := flags.String("only", "", "measure only these `rows`, such as K3,K10,agents")
	quick := flags.Bool("quick", false, "run everything once: figures mean little")
	runs := flags.Int("runs", 11, "run each agent this many `times`, which should be odd")
	var pages []string
	flags.Func("readme", "rewrite the tables in this `file`; can be repeated", func(name string) error {
		pages = append(pages, name)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	b := &bench{ctx: ctx, built: map[string]string{}, models: &models{calls: map[string]int{}}, runs: *runs,
		rounds: 20, times: min(*runs, 3), benchtime: "500ms", quick: *quick}
	if *quick {
		b.runs, b.rounds, b.times, b.benchtime = 1, 2, 1, "1x"
	}
	var err error
	if b.module, err = os.Getwd(); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(b.module, "programs", "cost")); err != nil {
		return fmt.Errorf("run it in its own directory: %w", err)
	}
	if b.temp, err = os.MkdirTemp("", "attractor-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.temp)
	mux := http.NewServeMux()
	mux.Handle("/{run}/{tool}/{rounds}/", b.models)
	server := httptest.NewServer(mux)
	defer server.Close()
	b.url = server.URL
	report, err := b.measure(*only)
	if err != nil {
		return err
	}
	failed := report.print(out)
	for _, name := range pages {
		if err := report.rewrite(name); err != nil {
			return err
		}
	}
	return failed
}

// measure measures the rows whose ids only lists, separated by commas, or all rows. A row that
// fails is reported, and the others are still measured.
func (b *bench) measure(only string) (*report, error) {
	known := []string{"AGENTS"}
	for _, s := range subjects() {
		known = append(known, s.id)
	}
	chosen := known
	if only != "" {
		chosen = strings.Split(strings.ToUpper(only), ",")
	}
	for _, id := range chosen {
		if !slices.Contains(known, id) {
			return nil, fmt.Errorf("there is no row %q; there are %s", id, strings.Join(slices.Compact(known), ", "))
		}
	}
	r := &report{machine: b.machine()}
	failed := func(what string, err error) {
		if err != nil {
			r.failed = append(r.failed, fmt.Sprintf("%s: %v", what, err))
		}
	}
	for _, s := range subjects() {
		if slices.Contains(chosen, s.id) && b.ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "measuring", s.id)
			failed(s.id, b.subject(s, r))
		}
	}
	if slices.Contains(chosen, "AGENTS") && b.ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "measuring agents")
		sections, err := b.compare()
		failed("agents", err)
		r.sections = sections
	}
	failed("the rest", b.ctx.Err())
	return r, nil
}

// subject adds the rows of a subject to a report.
func (b *bench) subject(s subject, to *report) error {
	m, err := b.benchmarks(s)
	if err != nil {
		return err
	}
	for _, r := range s.rows {
		if b.quick && strings.Contains(r.name, "/many/") {
			continue
		}
		cells, err := r.cells(s.id, m)
		if err != nil {
			return err
		}
		to.rows = append(to.rows, cells)
	}
	return nil
}
