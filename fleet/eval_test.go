package fleet_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/memfleet"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// A worker that is drained while it judges a task gives the task away, and the next one judges it.
func TestP2_DrainedWhileItJudges(t *testing.T) {
	t.Parallel()
	f := newField(t, memfleet.Options{}, fakellm.Script(fakellm.Turn{Text: "Done."}), fakellm.Options{})
	dir := t.TempDir()
	began, may := filepath.Join(dir, "began"), filepath.Join(dir, "may")
	f.submit(fleet.Task{ID: "t1", Prompt: "Do it.", Eval: &fleet.Eval{
		Check: "echo x >>" + began + "; until [ -e " + may + " ]; do sleep 0.05; done"}})
	f.ttl = short
	f.start(f.worker("w1"))
	await.For(t, "the check", func() bool {
		_, err := os.Stat(began)
		return err == nil
	})
	if err := f.engine.Leases().Drain(t.Context(), "w1"); err != nil {
		t.Fatal(err)
	}
	f.until("the end of the first worker's claim", func() bool {
		_, s, err := f.space(fleet.DefaultTenant).Tasks.Get(t.Context(), "t1")
		return err == nil && s.State == fleet.Queued
	})
	if err := os.WriteFile(may, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.start(f.worker("w2"))
	if s := f.wait("t1"); s.State != fleet.Done || s.Verdict == nil || !s.Verdict.Passed || s.Worker != "w2" {
		t.Errorf("status: %+v, verdict %+v", s, s.Verdict)
	}
	if data, err := os.ReadFile(began); err != nil || string(data) != "x\nx\n" {
		t.Errorf("the check began %q, %v", data, err)
	}
}

// The deadline of a task holds for its check, too.
func TestP2_DeadlineWhileItJudges(t *testing.T) {
	t.Parallel()
	f := newField(t, memfleet.Options{}, fakellm.Script(fakellm.Turn{Text: "Done."}), fakellm.Options{})
	f.submit(fleet.Task{ID: "t1", Prompt: "Do it.", Deadline: time.Now().Add(2 * time.Second),
		Eval: &fleet.Eval{Check: "until [ -e never ]; do sleep 0.05; done"}})
	f.start(f.worker("w1"))
	s := f.wait("t1")
	said := s.Reason // if the machine was slow, its session came to the deadline
	if s.Verdict != nil {
		said = s.Verdict.Reason
	}
	if !strings.Contains(said, "the task has come to its deadline") {
		t.Errorf("status: %+v, verdict %+v", s, s.Verdict)
	}
}
