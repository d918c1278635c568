package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	wire "github.com/attractor-go/attractor/llm/anthropic"
	claude "github.com/attractor-go/attractor/profile/anthropic"
	"github.com/attractor-go/attractor/tool"
)

// nothing is a tool that does nothing and tells each call.
func nothing(onCall func()) tool.Tool {
	type in struct {
		N int `json:"n"`
	}
	return tool.New(llm.ToolDefinition{Name: "noop", Description: "Does nothing."}, func(context.Context, *tool.Call,
		in) (tool.Result, error) {
		onCall()
		return tool.Text("ok"), nil
	})
}

// point is the state of the process at a round.
type point struct {
	cpu   time.Duration
	wall  time.Time
	bytes uint64
	event int64
}

// round runs a session whose model calls the tool noop, and measures all rounds but the first
// tenth, which warms up. Of a long session it measures the rounds around an early and a late one.
func round(ctx context.Context, url, dir string, numbers []int) (figures, error) {
	rounds := numbers[0]
	var events atomic.Int64
	marks := map[int]point{rounds / 10: {}, rounds - 1: {}}
	if len(numbers) == 4 {
		for _, middle := range numbers[1:3] {
			marks[middle-numbers[3]], marks[middle+numbers[3]] = point{}, point{}
		}
	}
	calls := 0
	onCall := func() {
		if _, wanted := marks[calls]; wanted {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			marks[calls] = point{cpu(), time.Now(), m.TotalAlloc, events.Load()}
		}
		calls++
	}
	provider, err := wire.New(wire.Options{APIKey: "k", BaseURL: url})
	if err != nil {
		return figures{}, err
	}
	o := agent.Options{Client: &llm.Client{Providers: []llm.Provider{provider}}, Profile: claude.Profile(),
		System: "Be quick.",
		Tools:  []tool.Tool{nothing(onCall)}, OnEvent: func(agent.Event) { events.Add(1) }}
	if err := play(ctx, o, dir, ""); err != nil {
		return figures{}, err
	}
	if calls != rounds {
		return figures{}, fmt.Errorf("%d rounds instead of %d", calls, rounds)
	}
	a, z := marks[rounds/10], marks[rounds-1]
	n := float64(rounds - 1 - rounds/10)
	f := figures{CPU: micros(z.cpu-a.cpu) / n, Wall: micros(z.wall.Sub(a.wall)) / n,
		Bytes: float64(z.bytes-a.bytes) / n, Events: float64(z.event-a.event) / n}
	if len(numbers) == 4 {
		each := func(middle int) float64 {
			around := numbers[3]
			return micros(marks[middle+around].cpu-marks[middle-around].cpu) / float64(2*around)
		}
		f.Early, f.Late = each(numbers[1]), each(numbers[2])
	}
	return f, nil
}

// play runs a session with one input to its end. Its journal is in dir, or nowhere if that is
// empty.
func play(ctx context.Context, o agent.Options, dir, id string) (err error) {
	temp, err := os.MkdirTemp("", "session-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	local, err := env.NewLocal(temp, env.LocalOptions{})
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := local.Close(); err == nil {
			err = closeErr
		}
	}()
	o.Env, o.ID = local, id
	if dir != "" {
		if o.ID == "" {
			o.ID = "session"
		}
		if o.Journal, err = journal.NewDir(dir).Create(ctx, o.ID); err != nil {
			return err
		}
	}
	s, err := agent.New(ctx, o)
	if err != nil {
		return err
	}
	if _, err := s.Submit(ctx, "go"); err != nil {
		return err
	}
	return s.Close()
}

// post sends a body of a size, n times, and reads the answers.
func post(url string, size, n int) (figures, error) {
	if size < 0 {
		return figures{}, fmt.Errorf("a body of %d bytes", size)
	}
	body := strings.Repeat("x", size)
	one := func() error {
		resp, err := http.Post(url+"/v1/messages", "application/json", strings.NewReader(body))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	if err := one(); err != nil {
		return figures{}, err
	}
	before := cpu()
	for range n {
		if err := one(); err != nil {
			return figures{}, err
		}
	}
	return figures{CPU: micros(cpu()-before) / float64(n)}, nil
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
