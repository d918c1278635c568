package chat

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/tty"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// blank is a terminal that shows nothing.
type blank struct{ *program }

func (b blank) draw(string, *program)      {}
func (b blank) bell()                      {}
func (b blank) keys(data []byte) []tty.Key { return b.decoder.Decode(data) }
func (b blank) discard() int               { return 0 }
func (b blank) change(os.Signal)           {}
func (b blank) suspend()                   {}
func (b blank) home()                      {}
func (b blank) close() error               { return nil }

// What is typed as the answer to a question that has ended in the viewer does not answer the next
// one, however long that takes to come. What is typed when the next one has been seen does.
func TestN5_KeysForWithdrawnQuestions(t *testing.T) {
	for name, c := range map[string]struct {
		interrupt bool          // by the page; otherwise the page has answered
		next      time.Duration // from the end of the first question until the second one
		typed     time.Duration // from the second question until the keys
		counts    bool
	}{
		"at once":            {false, 0, 100 * time.Millisecond, false},
		"a model call later": {false, time.Second, 100 * time.Millisecond, false},
		"interrupted":        {true, time.Second, 100 * time.Millisecond, false},
		"read before":        {false, time.Second, time.Second, true},
		"long ago":           {false, time.Minute, 100 * time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				typed := make(chan tty.Piece)
				p := &program{ctx: t.Context(), posts: make(chan func()), ended: make(chan struct{}),
					turn: make(chan struct{}, 1), changed: make(chan struct{}, 1)}
				p.history, _ = tty.OpenHistory("") // which reads no file
				p.front = blank{p}
				over := make(chan struct{})
				go func() {
					defer close(over)
					p.loop(typed, nil)
				}()
				ctx, cancel := context.WithCancelCause(t.Context())
				first := make(chan error)
				go func() {
					answer, err := p.approve(ctx, permit.Question{})
					if answer.Verdict == tool.Allow {
						t.Error("the question that was withdrawn is allowed")
					}
					first <- err
				}()
				synctest.Wait()
				if c.interrupt {
					cancel(context.Canceled)
				} else {
					cancel(&permit.Elsewhere{End: permit.EndAnswered})
				}
				if err := <-first; err == nil {
					t.Error("the question that was withdrawn is answered")
				}
				time.Sleep(c.next)
				second := make(chan permit.Answer)
				go func() {
					answer, err := p.approve(t.Context(), permit.Question{})
					if err != nil {
						t.Error(err)
					}
					second <- answer
				}()
				time.Sleep(c.typed)
				typed <- tty.Piece{Data: []byte("y\r"), Time: time.Now()}
				synctest.Wait()
				if !c.counts {
					time.Sleep(render.WithdrawnFor)
					typed <- tty.Piece{Data: []byte("n\r"), Time: time.Now()}
				}
				if answer := <-second; (answer.Verdict == tool.Allow) != c.counts {
					t.Errorf("the next question is answered with %+v", answer)
				}
				p.post(func() { p.over = true })
				<-over
				close(p.ended)
			})
		})
	}
}
