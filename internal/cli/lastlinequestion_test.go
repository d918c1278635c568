package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// watched holds what was written, and closes asked when it ends with a question.
type watched struct {
	mu    sync.Mutex
	text  strings.Builder
	asked chan struct{}
	once  sync.Once
}

func (w *watched) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(b)
	if strings.HasSuffix(w.text.String(), "Allow it? ") {
		w.once.Do(func() { close(w.asked) })
	}
	return len(b), nil
}

// Calls that need no permission go on while a person is asked about another one. The question stays
// at the end of the screen.
func TestJ5_ProgressIsWrittenAroundAQuestion(t *testing.T) {
	screen := &watched{asked: make(chan struct{})}
	answers, keyboard := io.Pipe()
	p := newConsole(answers, screen)
	v := &view{progress: render.NewSession(render.Style{}), w: p.out, warnings: p.out}
	decided := make(chan permit.Answer)
	go func() {
		d, err := p.approve(context.Background(),
			permit.Question{Request: tool.Request{Access: tool.Access{Command: "make"}}})
		if err != nil {
			t.Error(err)
		}
		decided <- d
	}()
	<-screen.asked
	v.show(&agent.SteeringInjected{Text: "read one"})
	v.show(&agent.AssistantTextDelta{Text: "a text, "})
	v.show(&agent.AssistantTextDelta{Text: "piece by piece\n"})
	fmt.Fprintln(v.warnings, "a warning")
	if _, err := keyboard.Write([]byte("y\n")); err != nil {
		t.Fatal(err)
	}
	if d := <-decided; d.Verdict != tool.Allow {
		t.Errorf("the decision is %v", d)
	}
	v.show(&agent.SteeringInjected{Text: "ran make"})
	ask := "Allow it? "
	want := "\nThe agent wants to run:\n  make\n\n" + render.Choices(permit.Question{}) + "\n" + ask +
		"\n→ read one\n" + ask + "\na text, piece by piece\n" + ask + "\na warning\n" + ask + "→ ran make\n"
	if got := screen.text.String(); got != want {
		t.Errorf("the screen shows\n%q, want\n%q", got, want)
	}
}

// An interrupt ends the question that is shown and asks nothing more. What is written next does not
// stand behind the question.
func TestJ5_AnInterruptAsksNothingMore(t *testing.T) {
	screen := &watched{asked: make(chan struct{})}
	answers, keyboard := io.Pipe()
	defer keyboard.Close()
	p := newConsole(answers, screen)
	ctx, interrupt := context.WithCancel(context.Background())
	decided := make(chan error)
	go func() {
		_, err := p.approve(ctx, permit.Question{Request: tool.Request{Access: tool.Access{Command: "make"}}})
		decided <- err
	}()
	<-screen.asked
	interrupt()
	if err := <-decided; !errors.Is(err, context.Canceled) {
		t.Errorf("the interrupted question returns %v", err)
	}
	if _, err := p.approve(ctx,
		permit.Question{Request: tool.Request{Access: tool.Access{Command: "make"}}}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("the next call's question returns %v", err)
	}
	if _, err := p.reply(ctx, tool.Question{Text: "Which?"}); !errors.Is(err, context.Canceled) {
		t.Errorf("the model's question returns %v", err)
	}
	want := "\nThe agent wants to run:\n  make\n\n" + render.Choices(permit.Question{}) + "\nAllow it? \n"
	if got := screen.text.String(); got != want {
		t.Errorf("the screen shows\n%q, want\n%q", got, want)
	}
}
