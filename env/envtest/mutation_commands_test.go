//go:build unix

package envtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/attractor-go/attractor/env"
)

// command returns a mutator that changes commands before they start.
func command(how func(cmd *env.Command)) mutator {
	return process(func(cmd *env.Command) func(env.Process) env.Process {
		how(cmd)
		return func(p env.Process) env.Process { return p }
	})
}

// process returns a mutator that wraps processes.
func process(how func(cmd *env.Command) func(env.Process) env.Process) mutator {
	return changed(func(e env.Environment) mutant {
		return mutant{start: func(ctx context.Context, cmd env.Command) (env.Process, error) {
			wrap := how(&cmd)
			p, err := e.Start(ctx, cmd)
			if err != nil {
				return nil, err
			}
			return wrap(p), nil
		}}
	})
}

// exits returns a mutator that changes exits.
func exits(how func(exit *env.Exit)) mutator {
	return process(func(*env.Command) func(env.Process) env.Process {
		return func(p env.Process) env.Process {
			return mutantProcess{Process: p, wait: func(ctx context.Context) (env.Exit, error) {
				exit, err := p.Wait(ctx)
				how(&exit)
				return exit, err
			}}
		}
	})
}

// kills returns a mutator that replaces Kill. It receives the process and a function that returns
// its process id.
func kills(how func(ctx context.Context, p env.Process, pid func() int) error) mutator {
	return func(t *testing.T, e env.Environment) env.Environment {
		dir := t.TempDir()
		return mutant{Environment: e, start: func(ctx context.Context, cmd env.Command) (env.Process, error) {
			f, err := os.CreateTemp(dir, "pid")
			if err != nil {
				return nil, err
			}
			cmd.Script = "echo $$ >'" + f.Name() + "'\n" + cmd.Script
			p, err := e.Start(ctx, cmd)
			if err = errors.Join(err, f.Close()); err != nil {
				return nil, err
			}
			return mutantProcess{Process: p, kill: func(ctx context.Context) error {
				return how(ctx, p, func() int {
					text, err := os.ReadFile(f.Name())
					if err != nil {
						t.Error(err)
					}
					pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
					if err != nil {
						t.Error(err)
					}
					return pid
				})
			}}, nil
		}}
	}
}

// mutantProcess replaces some methods of a process.
type mutantProcess struct {
	env.Process
	id    string
	stdin io.WriteCloser
	wait  func(ctx context.Context) (env.Exit, error)
	kill  func(ctx context.Context) error
}

func (p mutantProcess) ID() string {
	if p.id != "" {
		return p.id
	}
	return p.Process.ID()
}

func (p mutantProcess) Stdin() io.WriteCloser {
	if p.stdin != nil {
		return p.stdin
	}
	return p.Process.Stdin()
}

func (p mutantProcess) Wait(ctx context.Context) (env.Exit, error) {
	if p.wait != nil {
		return p.wait(ctx)
	}
	return p.Process.Wait(ctx)
}

func (p mutantProcess) Kill(ctx context.Context) error {
	if p.kill != nil {
		return p.kill(ctx)
	}
	return p.Process.Kill(ctx)
}

// mutantInput changes or delays what is written.
type mutantInput struct {
	io.WriteCloser
	change func([]byte) []byte
	held   *bytes.Buffer // until Close
}

func (in mutantInput) Write(p []byte) (int, error) {
	if in.held != nil {
		return in.held.Write(p)
	}
	if _, err := in.WriteCloser.Write(in.change(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (in mutantInput) Close() error {
	if in.held != nil {
		if _, err := in.WriteCloser.Write(in.held.Bytes()); err != nil {
			return err
		}
	}
	return in.WriteCloser.Close()
}

func inputs(how func() mutantInput) mutator {
	return process(func(*env.Command) func(env.Process) env.Process {
		return func(p env.Process) env.Process {
			in := how()
			in.WriteCloser = p.Stdin()
			return mutantProcess{Process: p, stdin: in}
		}
	})
}

// unordered delivers each stream in its own goroutine, at any time before Wait returns. With
// holdBack it delays standard error until the end.
func unordered(holdBack bool) mutator {
	return process(func(cmd *env.Command) func(env.Process) env.Process {
		output := cmd.Output
		streams := map[int]chan []byte{env.Stdout: make(chan []byte, 1<<14), env.Stderr: make(chan []byte, 1<<14)}
		ended := make(chan struct{})
		var delivering sync.WaitGroup
		for stream, pieces := range streams {
			delivering.Go(func() {
				if holdBack && stream == env.Stderr {
					<-ended
				}
				for p := range pieces {
					output(stream, p)
				}
			})
		}
		cmd.Output = func(stream int, p []byte) { streams[stream] <- bytes.Clone(p) }
		return func(p env.Process) env.Process {
			go func() { // also if nobody waits
				if _, err := p.Wait(context.Background()); err != nil {
					return
				}
				for _, pieces := range streams {
					close(pieces)
				}
				close(ended)
			}()
			return mutantProcess{Process: p, wait: func(ctx context.Context) (env.Exit, error) {
				exit, err := p.Wait(ctx)
				if err == nil {
					delivering.Wait()
				}
				return exit, err
			}}
		}
	})
}

// late makes the first command print when another one is started.
func late(_ *testing.T, e env.Environment) env.Environment {
	var first func(int, []byte)
	return mutant{Environment: e, start: func(ctx context.Context, cmd env.Command) (env.Process, error) {
		switch {
		case cmd.Script == "echo x >go":
			first(env.Stdout, []byte("late"))
		case cmd.Output != nil:
			first = cmd.Output
		}
		return e.Start(ctx, cmd)
	}}
}

func commandMutations() []mutation {
	return []mutation{
		{defect: "no shell", check: "D3_PlatformNamesTheShell", mutate: changed(func(env.Environment) mutant {
			return mutant{platform: &env.Platform{OS: "linux", Arch: "amd64"}}
		})},
		{defect: "scripts are quoted twice", check: "D3_ScriptsAreTakenAsTheyAre",
			mutate: command(func(cmd *env.Command) {
				cmd.Script = `sh -c "` + cmd.Script + `"`
			})},
		{defect: "one line of the script is run", check: "D3_ScriptsAreTakenAsTheyAre",
			mutate: command(func(cmd *env.Command) {
				cmd.Script, _, _ = strings.Cut(cmd.Script, "\n")
			})},
		{defect: "one stream", check: "D3_StreamsAreToldApart", mutate: command(func(cmd *env.Command) {
			output := cmd.Output
			cmd.Output = func(_ int, p []byte) { output(env.Stdout, p) }
		})},
		{defect: "standard error comes at the end", check: "D3_StreamsInArrivalOrder", mutate: unordered(true)},
		{defect: "calls overlap", check: "D3_OutputComesOneCallAtATime", mutate: unordered(false)},
		{defect: "output is cut", check: "D3_AllOutputBeforeWaitReturns", mutate: command(func(cmd *env.Command) {
			output, left := cmd.Output, 40_000
			cmd.Output = func(stream int, p []byte) {
				p = p[:min(left, len(p))]
				left -= len(p)
				output(stream, p)
			}
		})},
		{defect: "output goes on", check: "D3_NoOutputAfterWait", mutate: late},
		{defect: "somebody must listen", check: "D3_OutputMayBeDiscarded",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{start: func(ctx context.Context, cmd env.Command) (env.Process, error) {
					if cmd.Output == nil {
						return nil, errors.New("no output")
					}
					return e.Start(ctx, cmd)
				}}
			})},
	}
}

func inputMutations() []mutation {
	return []mutation{
		{defect: "there is always an input", check: "D3_NoInputUnlessAsked",
			mutate: command(func(cmd *env.Command) { cmd.Stdin = true })},
		{defect: "the input comes at its end", check: "D3_Input", mutate: inputs(func() mutantInput {
			return mutantInput{held: &bytes.Buffer{}}
		})},
		{defect: "the input is text", check: "D3_InputAndOutputAreRawBytes", mutate: inputs(func() mutantInput {
			return mutantInput{change: func(p []byte) []byte {
				return bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n"))
			}}
		})},
		{defect: "the output is text", check: "D3_InputAndOutputAreRawBytes", mutate: command(func(cmd *env.Command) {
			output := cmd.Output
			cmd.Output = func(stream int, p []byte) { output(stream, bytes.ToValidUTF8(p, nil)) }
		})},
		{defect: "Dir is not looked at", check: "D3_Dir", mutate: command(func(cmd *env.Command) { cmd.Dir = "" })},
		{defect: "a Dir that is missing is made up for", check: "D3_MissingDir",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{start: func(ctx context.Context, cmd env.Command) (env.Process, error) {
					p, err := e.Start(ctx, cmd)
					if errors.Is(err, fs.ErrNotExist) {
						cmd.Dir = ""
						return e.Start(ctx, cmd)
					}
					return p, err
				}}
			})},
		{defect: "a Dir that is missing is a text", check: "D3_MissingDir",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{start: func(ctx context.Context, cmd env.Command) (env.Process, error) {
					p, err := e.Start(ctx, cmd)
					return p, mute(err)
				}}
			})},
		{defect: "Env is not looked at", check: "D3_Env", mutate: command(func(cmd *env.Command) { cmd.Env = nil })},
		{defect: "Env is expanded", check: "D3_Env", mutate: command(func(cmd *env.Command) {
			for i, v := range cmd.Env {
				cmd.Env[i] = os.Expand(v, func(string) string { return "" })
			}
		})},
		{defect: "no terminal", check: "D3_Terminal", mutate: command(func(cmd *env.Command) {
			cmd.TTY, cmd.Stdin = nil,
				true
		})},
		{defect: "another size", check: "D3_Terminal",
			mutate: command(func(cmd *env.Command) { cmd.TTY.Rows, cmd.TTY.Cols = 24, 80 })},
		{defect: "it runs all the same", check: "D7_RefusesCommands",
			mutate: changed(func(env.Environment) mutant { return mutant{} })},
	}
}
