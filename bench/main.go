package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
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
	ctx    context.Context
	meter  *meter
	temp   string
	url    string // the scripted server's
	module string // the directory of this module
	sizes  sizes
	built  map[string]string
	left   map[string]error // optional contestants that failed
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := flags.String("only", "", "run only these `parts`, such as K3,K10,wire")
	quick := flags.Bool("quick", false, "use small sizes and few runs: figures mean little")
	runs := flags.Int("runs", 0, "run each contestant this many `times`, which should be odd; 0 means 11")
	var readmes []string
	flags.Func("readme", "rewrite the tables in this `file`; can be repeated", func(name string) error {
		readmes = append(readmes, name)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	b, err := newBench(ctx, *quick)
	if err != nil {
		return err
	}
	defer b.close()
	if *runs > 0 {
		b.sizes.runs, b.sizes.trees, b.sizes.times = *runs, *runs, min(*runs, b.sizes.times)
	}
	stop, err := b.serve()
	if err != nil {
		return err
	}
	defer stop()
	report := b.measure(chosen)
	failed := report.print(out)
	for _, name := range readmes {
		if err := report.rewrite(name); err != nil {
			return err
		}
	}
	return failed
}

func newBench(ctx context.Context, quick bool) (*bench, error) {
	module, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(module, "programs", "server")); err != nil {
		return nil, fmt.Errorf("run it in its own directory: %w", err)
	}
	temp, err := os.MkdirTemp("", "attractor-bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{ctx: ctx, meter: newMeter(), temp: temp, module: module, sizes: whole, built: map[string]string{},
		left: map[string]error{}}
	if quick {
		b.sizes = small
	}
	return b, nil
}

func (b *bench) close() {
	b.meter.close()
	_ = os.RemoveAll(b.temp) // what is left, the system removes
}

// program builds a program of this module, or the command, and returns its path.
func (b *bench) program(name string) (string, error) {
	if path, ok := b.built[name]; ok {
		return path, nil
	}
	path, dir, pkg := filepath.Join(b.temp, "bin", name), b.module, "./programs/"+name
	if name == "attractor" {
		dir, pkg = filepath.Dir(b.module), "./cmd/attractor"
	}
	cmd := exec.CommandContext(b.ctx, "go", "build", "-o", path, pkg)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	b.built[name] = path
	return path, nil
}

// serve starts the scripted server. It ends when its standard input is closed, so also when this
// process is killed.
func (b *bench) serve() (stop func(), err error) {
	path, err := b.program("server")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(b.ctx, path)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the server did not print its address: %w", err)
	}
	b.url = strings.TrimSpace(line)
	return func() {
		_ = stdin.Close() // it ends the server, whose own end is of no interest
		_ = cmd.Wait()
	}, nil
}
