//go:build unix

package env_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
)

func TestD7_LoggingLogsCommands(t *testing.T) {
	var log logged
	e := env.Logging(newLocal(t, t.TempDir(), env.LocalOptions{}), log.logger(slog.LevelInfo))
	var out capture.Buffer
	p := start(t, e, env.Command{Script: `read x; echo "$x$TOKEN"; echo oops >&2; exit 3`, Dir: ".", Stdin: true,
		Env: []string{"TOKEN=s3cr3t", "ODD"}, Output: out.Write})
	if _, err := io.WriteString(p.Stdin(), "s3cr3t\n"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if exit := wait(t, p); exit.Code != 3 || out.Count(env.Stdout) != 13 {
			t.Errorf("%+v, %q", exit, out.Text())
		}
	}
	log.want(t,
		`INFO start dir="." env=["TOKEN","ODD"] process="p1" script="read x; echo \"$x$TOKEN\"; echo oops \u003e\u00262; exit 3"`,
		`INFO exit code=3 process="p1" stderr=5 stdout=13`,
	)

	p = start(t, e, env.Command{Script: "sleep 1000"})
	if p.Stdin() != nil {
		t.Error("the process has an input without Command.Stdin")
	}
	now, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Wait(now); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait: %v", err)
	}
	if err := p.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait(t, p)
	log.want(t,
		`INFO start process="p2" script="sleep 1000"`,
		`INFO kill process="p2"`,
		`INFO exit code=-1 process="p2" signal="SIGTERM" stderr=0 stdout=0`,
	)
}
