package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// sharedBudget is a budget that sessions of several processes share over HTTP.
type sharedBudget struct {
	tokens int // the whole budget

	mu      sync.Mutex
	settled sync.Cond
	spent   int
	open    map[string]agent.Claim // by session
	lost    int                    // by claims whose process was killed
	over    bool                   // more was reserved and spent at a time than the budget has
	held    chan agent.Claim       // gets each claim that was granted
	meet    int                    // how many sessions must ask before any gets an answer
	came    map[string]bool
}

// ledgerMessage is a message between a session and the treasury.
type ledgerMessage struct {
	Claim  agent.Claim
	Took   agent.Spent
	Output int
	Limit  agent.Reason
	Value  float64
}

func (f *sharedBudget) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in, out ledgerMessage
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if r.URL.Path == "/settle" {
		f.settle(in)
	} else {
		out = f.reserve(in.Claim)
	}
	if err := json.NewEncoder(w).Encode(out); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// reserve waits while other sessions hold the wanted tokens.
func (f *sharedBudget) reserve(c agent.Claim) ledgerMessage {
	f.mu.Lock()
	defer f.mu.Unlock()
	if last, ok := f.open[c.Caller.Session]; ok { // its process was killed
		f.spent += last.Tokens()
		f.lost += last.Tokens()
		delete(f.open, c.Caller.Session)
		f.settled.Broadcast()
	}
	f.came[c.Caller.Session] = true
	f.settled.Broadcast()
	for len(f.came) < f.meet {
		f.settled.Wait()
	}
	for f.left()-c.Input < c.Least && len(f.open) > 0 {
		f.settled.Wait()
	}
	if c.Output = min(c.Output, f.left()-c.Input); c.Output < c.Least {
		return ledgerMessage{Limit: agent.ReasonBudgetTokens, Value: float64(f.tokens)}
	}
	f.open[c.Caller.Session] = c
	f.over = f.over || f.left() < 0
	f.held <- c
	return ledgerMessage{Output: c.Output}
}

func (f *sharedBudget) settle(in ledgerMessage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, in.Claim.Caller.Session)
	f.spent += in.Took.Usage.Total()
	f.over = f.over || f.left() < 0
	f.settled.Broadcast()
}

func (f *sharedBudget) left() int {
	left := f.tokens - f.spent
	for _, c := range f.open {
		left -= c.Tokens()
	}
	return left
}

// remoteLedger is the ledger of the treasury in a session's process.
type remoteLedger struct{ url string }

// ask sends a message to the shared budget and returns its answer.
func (l remoteLedger) ask(ctx context.Context, path string, in ledgerMessage) (out ledgerMessage, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url+path, bytes.NewReader(body))
	if err != nil {
		return out, err
	}
	req.Close = true // so that no connection is left when the test ends
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return out, err
	}
	err = json.NewDecoder(resp.Body).Decode(&out)
	return out, errors.Join(err, resp.Body.Close())
}

func (l remoteLedger) Reserve(ctx context.Context, c agent.Claim) (int, error) {
	out, err := l.ask(ctx, "/reserve", ledgerMessage{Claim: c})
	if err == nil && out.Limit != "" {
		err = &agent.OverBudget{Limit: out.Limit, Value: out.Value}
	}
	return out.Output, err
}

func (l remoteLedger) Settle(ctx context.Context, c agent.Claim, took agent.Spent) error {
	_, err := l.ask(ctx, "/settle", ledgerMessage{Claim: c, Took: took})
	return err
}

// Environment variables of the processes: the address of the ledger, the path of the journal, and
// whether the first model call hangs.
const (
	ledgerURL = "ATTRACTOR_TEST_LEDGER"
	ledgerLog = "ATTRACTOR_TEST_LEDGER_JOURNAL"
	ledgerNew = "ATTRACTOR_TEST_LEDGER_HANGS"
)

// TestJ9_LedgerProcess is the main function of a process in the test below: a session whose model
// writes as much as it may, until the shared budget is used up.
func TestJ9_LedgerProcess(t *testing.T) {
	url := os.Getenv(ledgerURL)
	if url == "" {
		t.Skip("a process of TestJ9_LedgerOfAFleet")
	}
	greedy := llmtest.Func(func(_ context.Context, req *llm.Request) llmtest.Step {
		if os.Getenv(ledgerNew) != "" {
			return llmtest.Hang() // until this process is killed
		}
		return answerWithUsage(10, max(req.MaxTokens, 1), call("work"))
	})
	logs := journal.NewDir(os.Getenv(ledgerLog))
	log, err := logs.Open(t.Context(), "session")
	if errors.Is(err, fs.ErrNotExist) {
		log, err = logs.Create(t.Context(), "session")
	}
	if err != nil {
		t.Fatal(err)
	}
	h := open(t, setup{models: model(llm.Model{MaxOutput: 2_000}), tools: []tool.Tool{echo("work")},
		steps: slices.Repeat([]llmtest.Step{greedy}, 99),
		options: agent.Options{Journal: log, Request: agent.RequestOptions{MaxTokens: 2_000},
			Ledger: remoteLedger{url}}})
	h.submit(t, "go", agent.ReasonBudgetTokens)
}

// Sessions in several processes share a budget and do not overspend it together. The claim of a
// killed session counts as soon as its session is resumed.
func TestJ9_LedgerOfAFleet(t *testing.T) {
	f := &sharedBudget{tokens: 30_000, open: map[string]agent.Claim{}, came: map[string]bool{},
		held: make(chan agent.Claim, 99)}
	f.settled.L = &f.mu
	server := httptest.NewServer(f)
	defer server.Close()
	dir := t.TempDir()
	process := func(name string, more ...string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^TestJ9_LedgerProcess$", "-test.v")
		cmd.Env = append(append(os.Environ(), ledgerURL+"="+server.URL, ledgerLog+"="+filepath.Join(dir, name),
			"TMPDIR="+dir), more...)
		return cmd
	}
	killed := process("b", ledgerNew+"=1")
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	claim := <-f.held
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := killed.Wait(); err == nil {
		t.Fatal("it was not killed")
	}
	f.mu.Lock()
	f.meet, f.came = 3, map[string]bool{}
	f.mu.Unlock()
	var running sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		running.Go(func() {
			if out, err := process(name).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
		})
	}
	running.Wait()
	if f.over || f.spent > f.tokens || f.spent < f.tokens-3_000 || len(f.open) > 0 {
		t.Errorf("spent %d of %d, over: %t, open: %v", f.spent, f.tokens, f.over, f.open)
	}
	if f.lost != claim.Tokens() {
		t.Errorf("of the killed process's claim of %d tokens %d are counted", claim.Tokens(), f.lost)
	}
	if len(f.came) != 3 || !f.came[claim.Caller.Session] {
		t.Errorf("sessions %v came, want three, of which one is that of the killed process", f.came)
	}
}
