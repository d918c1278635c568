//go:build unix

package envtest

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/env"
)

func processMutations() []mutation {
	return []mutation{
		{defect: "codes are yes and no", check: "D3_ExitCode",
			mutate: exits(func(exit *env.Exit) { exit.Code = min(exit.Code, 1) })},
		{defect: "signals are codes", check: "D3_Signal", mutate: exits(func(exit *env.Exit) {
			if exit.Signal != "" {
				exit.Code, exit.Signal = 137, ""
			}
		})},
		{defect: "no duration", check: "D3_Duration", mutate: exits(func(exit *env.Exit) { exit.Duration = 0 })},
		{defect: "Wait does not look at its context", check: "D3_WaitEndsWithItsContext",
			mutate: process(func(*env.Command) func(env.Process) env.Process {
				return func(p env.Process) env.Process {
					return mutantProcess{Process: p, wait: func(context.Context) (env.Exit,
						error) {
						return p.Wait(context.Background())
					}}
				}
			})},
		{defect: "Wait's context ends the process", check: "D3_WaitEndsWithItsContext",
			mutate: process(func(*env.Command) func(env.Process) env.Process {
				return func(p env.Process) env.Process {
					return mutantProcess{Process: p, wait: func(ctx context.Context) (env.Exit, error) {
						exit, err := p.Wait(ctx)
						if err != nil {
							err = errors.Join(err, p.Kill(context.Background()))
						}
						return exit, err
					}}
				}
			})},
		{defect: "one may wait", check: "D3_WaitByMany",
			mutate: process(func(*env.Command) func(env.Process) env.Process {
				var once sync.Mutex
				return func(p env.Process) env.Process {
					return mutantProcess{Process: p, wait: func(ctx context.Context) (env.Exit, error) {
						if !once.TryLock() {
							return env.Exit{}, errors.New("somebody waits already")
						}
						return p.Wait(ctx)
					}}
				}
			})},
	}
}

func startMutations() []mutation {
	return []mutation{
		{defect: "Start does not look at its context", check: "D3_StartWithEndedContext",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{start: func(ctx context.Context, cmd env.Command) (env.Process, error) {
					return e.Start(context.WithoutCancel(ctx), cmd)
				}}
			})},
		{defect: "Start's context ends the process", check: "D3_StartContextDoesNotEndTheProcess",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{start: func(ctx context.Context, cmd env.Command) (env.Process, error) {
					p, err := e.Start(ctx, cmd)
					if err != nil {
						return nil, err
					}
					killed := make(chan error, 1)
					context.AfterFunc(ctx, func() {
						killed <- p.Kill(context.Background())
						close(killed)
					})
					return mutantProcess{Process: p, stdin: mutantInput{WriteCloser: p.Stdin(),
						change: func(b []byte) []byte {
							<-killed // so that the outcome does not depend on timing
							return b
						}}}, nil
				}}
			})},
		{defect: "ids come again", check: "D3_IDsAreUnique",
			mutate: process(func(*env.Command) func(env.Process) env.Process {
				return func(p env.Process) env.Process { return mutantProcess{Process: p, id: "p1"} }
			})},
		{defect: "one command at a time", check: "D3_CommandsSideBySide",
			mutate: changed(func(e env.Environment) mutant {
				var last env.Process
				return mutant{start: func(ctx context.Context, cmd env.Command) (env.Process, error) {
					if last != nil {
						if _, err := last.Wait(ctx); err != nil {
							return nil, err
						}
					}
					var err error
					last, err = e.Start(ctx, cmd)
					return last, err
				}}
			})},
		{defect: "Kill does nothing", check: "AC4_5_RunTimesOut",
			mutate: kills(func(context.Context, env.Process, func() int) error { return nil })},
	}
}

func killMutations() []mutation {
	return []mutation{
		{defect: "Kill does nothing", check: "D4_Kill",
			mutate: kills(func(context.Context, env.Process, func() int) error { return nil })},
		{defect: "Kill does not wait", check: "D4_KillInsists",
			mutate: kills(func(_ context.Context, _ env.Process, pid func() int) error {
				return syscall.Kill(-pid(), syscall.SIGTERM)
			})},
		{defect: "Kill does not ask", check: "D4_KillAsksFirst",
			mutate: kills(func(ctx context.Context, p env.Process, pid func() int) error {
				err := syscall.Kill(-pid(), syscall.SIGKILL)
				_, waitErr := p.Wait(ctx)
				return errors.Join(err, waitErr)
			})},
		{defect: "Kill does not insist", check: "D4_KillInsists",
			mutate: kills(func(ctx context.Context, p env.Process, pid func() int) error {
				err := syscall.Kill(-pid(), syscall.SIGTERM)
				_, waitErr := p.Wait(ctx)
				return errors.Join(err, waitErr)
			})},
		{defect: "one may kill", check: "D4_KillByMany", mutate: func(t *testing.T, e env.Environment) env.Environment {
			var once sync.Mutex
			return kills(func(ctx context.Context, p env.Process, _ func() int) error {
				if !once.TryLock() {
					return errors.New("it is being killed")
				}
				return p.Kill(ctx)
			})(t, e)
		}},
		{defect: "Kill waits for the output to pause", check: "D4_KillInAFlood",
			mutate: kills(func(ctx context.Context, _ env.Process, _ func() int) error {
				<-ctx.Done()
				return context.Cause(ctx)
			})},
		{defect: "nothing is left to kill", check: "D4_KillAfterTheEnd",
			mutate: kills(func(ctx context.Context, p env.Process, _ func() int) error {
				now, cancel := context.WithCancel(ctx)
				cancel()
				if _, err := p.Wait(now); err == nil {
					return os.ErrProcessDone
				}
				return p.Kill(ctx)
			})},
		{defect: "the shell alone is killed", check: "D4_KillEndsTheTree",
			mutate: kills(func(ctx context.Context, p env.Process, pid func() int) error {
				err := syscall.Kill(pid(), syscall.SIGKILL)
				_, waitErr := p.Wait(ctx)
				return errors.Join(err, waitErr)
			})},
		{defect: "what ignores TERM survives the shell", check: "D4_KillEndsTheTree",
			mutate: kills(func(ctx context.Context, p env.Process, pid func() int) error {
				err := syscall.Kill(-pid(), syscall.SIGTERM)
				_, waitErr := p.Wait(ctx)
				return errors.Join(err, waitErr)
			})},
		{defect: "what has ended is not killed", check: "D4_KillEndsWhatIsLeft",
			mutate: kills(func(ctx context.Context, p env.Process, _ func() int) error {
				now, cancel := context.WithCancel(ctx)
				cancel()
				if _, err := p.Wait(now); err == nil {
					return nil
				}
				return p.Kill(ctx)
			})},
		{defect: "the group alone is killed", check: "D4_KillEndsWhatLeftTheSession",
			mutate: kills(func(ctx context.Context, p env.Process, pid func() int) error {
				err := syscall.Kill(-pid(), syscall.SIGKILL)
				_, waitErr := p.Wait(ctx)
				return errors.Join(err, waitErr)
			})},
	}
}
