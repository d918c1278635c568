package cli

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// What is typed as the answer to a question that has ended elsewhere does not answer the next one,
// however long that takes to come. What is typed when the next one has been seen does.
func TestN5_LinesForWithdrawnQuestions(t *testing.T) {
	for name, c := range map[string]struct {
		end    error         // of the first question
		next   time.Duration // from its end until the second question
		typed  time.Duration // from the second question until the line
		counts bool
	}{
		"at once": {&permit.Elsewhere{End: permit.EndAnswered, Allowed: true}, 0, 100 * time.Millisecond,
			false},
		"a model call later": {&permit.Elsewhere{End: permit.EndAnswered, Allowed: true}, time.Second,
			100 * time.Millisecond, false},
		"timed out":   {&permit.Elsewhere{End: permit.EndTimedOut}, time.Second, 100 * time.Millisecond, false},
		"interrupted": {context.Canceled, time.Second, 100 * time.Millisecond, false},
		"read before": {&permit.Elsewhere{End: permit.EndAnswered}, time.Second, time.Second, true},
		"long ago":    {&permit.Elsewhere{End: permit.EndAnswered}, time.Minute, 100 * time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, keyboard := net.Pipe() // whose reads can be ended, as on a terminal
				defer in.Close()
				defer keyboard.Close()
				person := newConsole(in, io.Discard)
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Millisecond, func() { cancel(c.end) }) // when the question is on the screen
				question := permit.Question{Request: tool.Request{Call: llm.ToolCall{ID: "1", Name: "shell",
					Args: "{}"}}}
				if answer, err := person.approve(ctx, question); err == nil || answer.Verdict == tool.Allow {
					t.Fatalf("the question that was withdrawn is answered with %+v, %v", answer, err)
				}
				time.Sleep(c.next)
				go func() {
					time.Sleep(c.typed)
					if _, err := io.WriteString(keyboard, "y\n"); err != nil {
						t.Error(err)
					}
					if c.counts {
						return
					}
					time.Sleep(render.WithdrawnFor)
					if _, err := io.WriteString(keyboard, "n\n"); err != nil {
						t.Error(err)
					}
				}()
				answer, err := person.approve(t.Context(), question)
				if counts := answer.Verdict == tool.Allow; err != nil || counts != c.counts {
					t.Errorf("the next question is answered with %+v, %v", answer, err)
				}
				synctest.Wait()
			})
		})
	}
}
