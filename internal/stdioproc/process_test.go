//go:build unix

package stdioproc_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/stdioproc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs a script that ends with the test.
func start(t *testing.T, script string) *stdioproc.Process {
	t.Helper()
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := stdioproc.Start(context.Background(), local, env.Command{Script: script})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(p.End(0), local.Close()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// What a server prints arrives whole, and then why it has ended.
func TestM5_EndsOfServers(t *testing.T) {
	for script, want := range map[string]string{
		"read line; echo $line; exit 3":          "its process ended with exit code 3",
		"read line; echo $line; kill -9 $$":      "its process was ended by",
		"read line; echo $line; no-such-program": "is not installed or not in PATH",
	} {
		p := start(t, script)
		if err := p.Send([]byte("hello\n")); err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(p.Out)
		if string(said) != "hello\n" || err != nil || p.Reason() == nil || !strings.Contains(p.Reason().Error(), want) {
			t.Errorf("%s: %q, %v, %v", script, said, err, p.Reason())
		}
	}
	muted := start(t, "exec >&-; sleep 1000")
	if _, err := io.ReadAll(muted.Out); err != nil || muted.Reason() == nil || !strings.Contains(muted.Reason().Error(),
		"closed its output") {
		t.Errorf("%v, %v", err, muted.Reason())
	}
}

// A server that reads nothing costs a bounded amount of memory, and no time.
func TestM5_DeafServer(t *testing.T) {
	p, began := start(t, "sleep 1000"), time.Now()
	piece := make([]byte, 1<<20)
	for sent := 0; ; sent++ {
		err := p.Send(piece)
		if err == nil && sent < 70 {
			continue
		}
		if err == nil || sent < 60 || p.Reason() == nil || !strings.Contains(p.Reason().Error(),
			"does not read its input") {
			t.Errorf("after %d MiB: %v, %v", sent, err, p.Reason())
		}
		break
	}
	if took := time.Since(began); took > await.Limit {
		t.Errorf("it took %v", took)
	}
	if err := p.Send(piece); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("after that: %v", err)
	}
}
