package cli

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
)

// closeAll waits for a reader of standard output that pauses at the end, such as a pager, so no
// event is lost.
func TestI7_PausedReader(t *testing.T) {
	release := make(chan struct{})
	session, err := agent.New(context.Background(), agent.Options{
		Client: &llm.Client{Providers: []llm.Provider{llmtest.NewProvider("test")}}, Env: envtest.NewMemory(nil),
		Profile: profile.Profile{Name: "test", Provider: "test", Model: "m"},
		Limits:  agent.Limits{Grace: time.Millisecond},
		OnEvent: func(ev agent.Event) {
			if ev.Head().Kind == "SESSION_END" {
				<-release
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Close(); !errors.Is(err, agent.ErrUndelivered) {
		t.Errorf("Close = %v, want ErrUndelivered", err)
	}
	closed := make(chan error)
	go func() { closed <- closeAll(session) }()
	close(release)
	if err := <-closed; err != nil {
		t.Errorf("closeAll = %v", err)
	}
}
