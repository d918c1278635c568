package gemini

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/tool"
)

// TestE2_TimedOut runs a command out of time, as far as it takes for the form of the result: the tool's own time is minutes.
func TestE2_TimedOut(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no commands on Windows yet")
	}
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{Grace: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	}()
	result, err := runAs(context.Background(), dialect().Shell(time.Millisecond), &tool.Call{Env: local, Session: new(tool.Plain)},
		map[string]any{"command": "sleep 60"})
	if err != nil {
		t.Fatal(err)
	}
	want := "<untrusted_context>\nOutput: [ERROR: Command timed out after 1ms. It printed nothing.\n" +
		"Start commands that take longer with is_background.]\n[A server or a watcher goes on if it is started with is_background.]\n</untrusted_context>"
	if got := result; got.Content.Text() != want || !got.IsError {
		t.Errorf("got %q, want %q", got.Content.Text(), want)
	}
}
