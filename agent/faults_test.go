package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
)

// The disk fails, once or for good, at any call of the journal. The host's call returns the error,
// the session ends in order, and the records written before continue to the same end once the disk
// works again.
func TestA19_DiskFailsAtEveryCall(t *testing.T) {
	t.Parallel()
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	whole := newUniverse(t, local)
	uninterrupted, _ := whole.live()
	for at := 1; at <= uninterrupted.log.calls; at++ {
		for _, failure := range []error{syscall.ENOSPC, syscall.EIO} {
			for _, once := range []bool{true, false} {
				t.Run(fmt.Sprintf("%v at call %d, once: %v", failure, at, once), func(t *testing.T) {
					u := newUniverse(t, local)
					p := u.begin(func(n int) (bool, error) {
						if n == at || n > at && !once {
							return false, &diskError{failure}
						}
						return true, nil
					})
					p.work()
					u.checkFailed(p, failure)
					u.log = journal.NewMemory(all(t, u.log)...)
					last, _ := u.live()
					if once && slices.Contains(p.refused, steering) && !hasText(last, steering) {
						return // the host was told, and the work continued without it
					}
					u.check(whole, last.History(), uninterrupted.History())
				})
			}
		}
	}
}

// hasText reports whether the history has a turn with this text.
func hasText(p *process, text string) bool {
	return slices.ContainsFunc(p.History(), func(t agent.Turn) bool { return t.Message.Parts.Text() == text })
}

// diskError is an error as package os would return it.
type diskError struct{ error }

func (e *diskError) Error() string { return "write session.jsonl: " + e.error.Error() }
func (e *diskError) Unwrap() error { return e.error }

// checkFailed checks that the host got the failure, from the call and from events that end.
func (u *universe) checkFailed(p *process, failure error) {
	u.t.Helper()
	if !errors.Is(p.failed, failure) || !strings.Contains(p.failed.Error(), "cannot keep the session") {
		u.t.Errorf("the host was told %v", p.failed)
	}
	if p.Session == nil { // New has returned the error
		return
	}
	checkEvents(u.t, p.events)
	if _, ok := p.events[len(p.events)-1].(*agent.SessionEnd); !ok || p.Status() != agent.StatusClosed {
		u.t.Errorf("the last event is %T, the session is %s", p.events[len(p.events)-1], p.Status())
	}
	if _, err := p.Submit(context.Background(), "more"); !errors.Is(err, agent.ErrClosed) {
		u.t.Errorf("Submit on the session that failed: %v", err)
	}
}

// Steer, FollowUp and Set return an error if they could not write, and the session can end.
func TestA19_SettingsOnAFullDisk(t *testing.T) {
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	for name, call := range map[string]func(*agent.Session) error{
		"Steer":    func(s *agent.Session) error { return s.Steer(context.Background(), "x") },
		"FollowUp": func(s *agent.Session) error { return s.FollowUp(context.Background(), "x") },
		"Set": func(s *agent.Session) error {
			model := "other"
			return s.Set(context.Background(), agent.Settings{Model: &model})
		},
	} {
		for at, what := range []string{"append", "sync"} {
			t.Run(name+" "+what, func(t *testing.T) {
				u := newUniverse(t, local)
				p := u.begin(func(n int) (bool, error) {
					if n == at+2 { // the first call belongs to New
						return false, &diskError{syscall.ENOSPC}
					}
					return true, nil
				})
				if err := call(p.Session); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(),
					"cannot keep the session") {
					t.Errorf("%s = %v", name, err)
				}
				if err := p.Close(); err != nil {
					t.Error(err)
				}
				checkEvents(t, p.events)
				if kept := len(all(t, u.log)); at == 0 && kept != 2 || at == 1 && kept < 3 {
					t.Errorf("%d records", kept)
				}
			})
		}
	}
}
