package tool_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/generate"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// generated runs calls of a registry's tools in package generate, over a real wire format, and
// returns the step that ran them.
func generated(t *testing.T, r *tool.Registry, c tool.Call, hook tool.Authorize, calls ...fakellm.Call) generate.Step {
	t.Helper()
	server := fakellm.New(fakellm.Script(fakellm.Turn{Calls: calls}, fakellm.Turn{Text: "Done."}), fakellm.Options{})
	p, err := anthropic.New(anthropic.Options{APIKey: "k", BaseURL: "http://x.test",
		HTTPClient: llmtest.PipeClient(t, server)})
	if err != nil {
		t.Fatal(err)
	}
	res, err := generate.Generate(t.Context(), &llm.Client{Providers: []llm.Provider{p}},
		generate.Options{Model: "m", Prompt: "go", Tools: r.ForGenerate(c, hook), Timeout: 20 * time.Second})
	if err != nil || res.Text() != "Done." {
		t.Fatalf("%q, %v", res.Text(), err)
	}
	return res.Steps[0]
}

func registryOf(t *testing.T, tools ...tool.Tool) *tool.Registry {
	t.Helper()
	r, err := tool.NewRegistry(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestJ11_ToolsOfASessionServeGenerate(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	local, err := env.NewLocal(dir, env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	breaks := tool.New(llm.ToolDefinition{Name: "breaks"}, func(context.Context, *tool.Call, struct{}) (tool.Result,
		error) {
		panic("ouch")
	})
	noFish := func(_ context.Context, req tool.Request) (tool.Decision, error) {
		if strings.Contains(req.Call.Args, "fish") {
			return tool.Decision{Reason: "no fish"}, nil
		}
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	r := registryOf(t, coding.ReadFile(), writeLine(), breaks, coding.AskUser())
	step := generated(t, r, tool.Call{Env: local}, noFish,
		fakellm.Call{Name: "read_file", Args: []byte(`{"file_path":"a.txt"}`)},
		fakellm.Call{Name: "write_line", Args: []byte(`{"path":"b.txt","line":"two"}`)},
		fakellm.Call{Name: "read_file", Args: []byte(`{"file_path":"none.txt"}`)},
		fakellm.Call{Name: "write_line", Args: []byte(`{"path":"c.txt","line":"fish"}`)},
		fakellm.Call{Name: "breaks", Args: []byte(`{}`)},
		fakellm.Call{Name: "ask_user", Args: []byte(`{"question":"may I?"}`)})
	for i, want := range []struct {
		isError bool
		text    string
	}{{false, "one"}, {false, "Written."}, {true, "none.txt"}, {true, "no fish"}, {true, "panicked: ouch"},
		{true, `unknown tool "ask_user"`}} {
		got := step.Results[i]
		text := got.Content.Text()
		if got.IsError != want.isError || !strings.Contains(text, want.text) || strings.Count(text, "Error:") > 1 ||
			got.IsError != (step.Errors[i] != nil) {
			t.Errorf("result %d: %v %q, error %v; want %v %q", i, got.IsError, text, step.Errors[i], want.isError,
				want.text)
		}
	}
	var broken *generate.PanicError
	if !errors.As(step.Errors[4], &broken) || !strings.Contains(string(broken.Stack), "ServeGenerate") {
		t.Errorf("no stack of the tool that panicked: %v", step.Errors[4])
	}
	if data, err := os.ReadFile(filepath.Join(dir, "b.txt")); err != nil || string(data) != "two\n" {
		t.Errorf("b.txt: %q, %v", data, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "c.txt")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the refused call ran: %v", err)
	}
}

func TestJ11_GenerateRunsOnlyReadOnlyCallsSideBySide(t *testing.T) {
	meet := make(chan struct{})
	look := tool.New(llm.ToolDefinition{Name: "look"}, func(ctx context.Context, _ *tool.Call, _ struct{}) (tool.Result,
		error) {
		select { // wait for the other call
		case meet <- struct{}{}:
		case <-meet:
		case <-ctx.Done():
			return tool.Result{}, errors.New("ran alone")
		}
		return tool.Text("met"), nil
	})
	look = tool.WithAccess(look, func(struct{}) tool.Access { return tool.Access{Effect: tool.ReadOnly} })
	var running, permitted atomic.Int32
	write := tool.New(llm.ToolDefinition{Name: "write"}, func(context.Context, *tool.Call, struct{}) (tool.Result,
		error) {
		defer running.Add(-1)
		running.Add(1)
		for n := 0; n < 10_000 || permitted.Load() < 2; n++ { // time for the other call, if it were allowed to run
			if runtime.Gosched(); running.Load() > 1 {
				return tool.Result{}, errors.New("not alone")
			}
		}
		return tool.Text("alone"), nil
	})
	count := func(_ context.Context, req tool.Request) (tool.Decision, error) {
		if req.Access.Effect != tool.ReadOnly {
			permitted.Add(1)
		}
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	for name, want := range map[string]string{"write": "alone", "look": "met"} {
		step := generated(t, registryOf(t, look, write), tool.Call{}, count, fakellm.Call{Name: name},
			fakellm.Call{Name: name})
		for i, r := range step.Results {
			if got := r.Content.Text(); got != want {
				t.Errorf("call %d of %s: %q, want %q", i, name, got, want)
			}
		}
	}
}

// A call that has waited for another one until the context ended does not begin.
func TestJ11_GenerateBeginsNoCallAfterTheEnd(t *testing.T) {
	var runs atomic.Int32
	writes := tool.New(llm.ToolDefinition{Name: "write"}, func(ctx context.Context, _ *tool.Call,
		_ struct{}) (tool.Result, error) {
		runs.Add(1)
		<-ctx.Done()
		return tool.Text("ok"), nil
	})
	synctest.Test(t, func(t *testing.T) {
		write := registryOf(t, writes).ForGenerate(tool.Call{}, nil)[0]
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var calls sync.WaitGroup
		var failed atomic.Int32
		for range 3 {
			calls.Go(func() {
				if _, err := write.Execute(ctx, "{}"); errors.Is(err, context.DeadlineExceeded) {
					failed.Add(1)
				}
			})
		}
		calls.Wait()
		if runs.Load() != 1 || failed.Load() != 2 {
			t.Errorf("%d calls ran, %d failed for the end of the context", runs.Load(), failed.Load())
		}
	})
}
