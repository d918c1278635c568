//go:build unix

package agent_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

var (
	idleSessions = flag.Int("idle.sessions", 400,
		"sessions of TestK9_TwentyThousandSessions and, if more than 1000, of BenchmarkK9_Idle")
	idleFiles = flag.Int("idle.files", 256, "limit of open files in TestK9_TwentyThousandSessions")
)

// idleProcess is set in the process of TestK9_TwentyThousandSessions that has few descriptors.
const idleProcess = "ATTRACTOR_IDLE_PROCESS"

// storeFiles is the most descriptors that a directory of journals holds for sessions at rest: one
// for the locks, the others for the journals that were used last.
const storeFiles = 65

// threeTurns is the script of a session that answers three times.
var threeTurns = []fakellm.Turn{{Text: "done"}, {Text: "done"}, {Text: "done"}}

// Many more sessions than a process may have open files are at rest, go on, and are resumed in one
// process.
func TestK9_TwentyThousandSessions(t *testing.T) {
	if os.Getenv(idleProcess) != "" {
		idleInFewFiles(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestK9_TwentyThousandSessions$", "-test.v", "-test.count=1",
		fmt.Sprint("-idle.sessions=", *idleSessions), fmt.Sprint("-idle.files=", *idleFiles))
	cmd.Env = append(os.Environ(), idleProcess+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v:\n%s", err, out)
	}
}

func idleInFewFiles(t *testing.T) {
	limit := unix.Rlimit{Cur: uint64(*idleFiles), Max: uint64(*idleFiles)}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	f := newFleet(t, threeTurns...)
	f.atOnce = 16
	stop := f.serve()
	f.sessions = make([]*agent.Session, *idleSessions)
	f.each(*idleSessions, f.one)
	f.each(*idleSessions, f.again)
	f.each(*idleSessions, func(i int) error { return f.sessions[i].Close() })
	f.each(*idleSessions, f.resumed)
	stop()
	for i, s := range f.sessions {
		if n := len(s.History()); n != 6 {
			t.Fatalf("session %d has %d turns, want 6", i, n)
		}
	}
	list, err := f.dir.List(context.Background())
	if err != nil || len(list) != *idleSessions {
		t.Fatalf("List has %d, %v", len(list), err)
	}
	for _, e := range list {
		if !e.Locked || e.PID != os.Getpid() {
			t.Errorf("%s is not locked by this process: %+v", e.ID, e)
		}
	}
	f.close()
}

// again gives a session at rest its next task.
func (f *fleet) again(i int) error {
	result, err := f.sessions[i].Submit(context.Background(), "look")
	if err == nil && result.Text != "done" {
		err = fmt.Errorf("session %d came to %+v", i, result)
	}
	return err
}

// resumed resumes a session that was closed, and gives it its next task.
func (f *fleet) resumed(i int) error {
	ctx, o := context.Background(), f.options()
	var err error
	if o.Journal, err = f.dir.Open(ctx, f.sessions[i].ID()); err != nil {
		return err
	}
	if f.sessions[i], err = agent.Resume(ctx, o); err != nil {
		return err
	}
	return f.again(i)
}

// Sessions at rest have no descriptors of their own.
func TestK9_NoDescriptorAtRest(t *testing.T) {
	f := newFleet(t, twoRounds...)
	f.atOnce = 16
	f.run(16)
	f.close()
	before := f.left()
	f.run(3 * storeFiles)
	if n := f.left().descriptors - before.descriptors; n > storeFiles {
		t.Errorf("%d sessions at rest have %d descriptors, want at most %d", len(f.sessions), n, storeFiles)
	}
	f.close()
	n := 0
	// Connections that were just closed end a little later.
	if !await.Holds(func() bool { n = f.left().descriptors - before.descriptors; return n <= 0 }) {
		t.Errorf("%d descriptors are left when the sessions are closed", n)
	}
}

// Sessions whose system prompts are equal share one in memory, whether they are new or resumed.
func TestK9_EqualPromptsAreShared(t *testing.T) {
	ctx := context.Background()
	f := newFleet(t)
	defer f.serve()()
	var prompts []*byte
	keep := func(s *agent.Session, err error) *agent.Session {
		if err != nil {
			t.Fatal(err)
		}
		f.sessions = append(f.sessions, s)
		prompts = append(prompts, unsafe.StringData(s.FoldedState().Header.System))
		return s
	}
	for i := range 2 {
		o := f.options()
		o.System = "" // that of the profile, with the directory
		log := new(journal.Memory)
		o.Journal = log
		s := keep(agent.New(ctx, o))
		if !strings.Contains(s.FoldedState().Header.System, f.env.WorkDir()) {
			t.Errorf("the prompt of session %d is %q", i, s.FoldedState().Header.System)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		keep(agent.Resume(ctx, o))
	}
	for i, p := range prompts {
		if p != prompts[0] {
			t.Errorf("session %d has a prompt of its own", i)
		}
	}
	f.close()
}

// BenchmarkK9_Idle reports what a session at rest needs, with its journal on the disk and after one
// turn of text. Its history, which is reported as well, comes on top. The goal is 6000 bytes, and
// no descriptor. The flag idle.sessions raises the number of sessions.
func BenchmarkK9_Idle(b *testing.B) {
	n := max(manySessions, *idleSessions)
	for b.Loop() {
		f := newFleet(b, threeTurns...)
		f.atOnce = 16 // the process keeps some memory for each goroutine that it ever had at a time
		f.run(16)
		f.close()
		empty, before := heap(), f.left()
		f.run(n)
		f.client.Providers = []llm.Provider{}
		used := float64(heap()) - float64(empty)
		f.writeHeap()
		var history float64
		for _, s := range f.sessions {
			history += float64(historyBytes(s))
		}
		b.ReportMetric((used-history)/float64(n), "B/session")
		b.ReportMetric(history/float64(n), "history-B/session")
		b.ReportMetric(float64(f.left().descriptors-before.descriptors)/float64(n), "descriptors/session")
		f.close()
	}
}
