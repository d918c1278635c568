package faults

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
)

// tally counts what became of the effects of sessions.
type tally struct {
	Sessions, Wanted int
	Ran, Twice       int // counted outside
	Unknown          int // calls of which the model was told that their outcome is unknown
	NeverRan         int // calls whose effect is not there
	// calls that the model was told had succeeded, without their effect, outside or in the
	// workspace
	Lost                  int
	Records, Takeovers    int
	JournalBytes, Watched int64
}

// check compares what was counted outside with the journals, and the journals with what watchers
// were told.
func (f *field) check(ctx context.Context, watchers []*watcher) tally {
	f.Helper()
	sum := tally{Sessions: len(watchers), Wanted: len(watchers) * mostEffects}
	for _, w := range watchers {
		if w.final == nil {
			f.Errorf("session %s has not ended: %+v", w.id, w.statuses[max(0, len(w.statuses)-1):])
			continue
		}
		if w.final.State != fleet.Done || w.final.Result == nil || !strings.Contains(w.final.Result.Text, done) {
			f.Errorf("session %s ended as %s: %s", w.id, w.final.State, w.final.Reason)
			continue
		}
		f.checkSession(ctx, w, &sum)
	}
	return sum
}

// checkSession checks one session.
func (f *field) checkSession(ctx context.Context, w *watcher, sum *tally) {
	f.Helper()
	sum.Takeovers += len(w.final.Deaths)
	sum.Watched += int64(len(w.facts))
	late := &watcher{id: w.id}
	late.watch(ctx, f.client)
	if problem := w.same(late); problem != "" {
		f.Errorf("session %s: the watcher was told something else than one who came late: %s", w.id, problem)
	}
	results, err := f.results(ctx, w.id, late, sum)
	if err != nil {
		f.Errorf("session %s: %v", w.id, err)
		return
	}
	ran, err := f.model.ran(w.id)
	if err != nil {
		f.Errorf("session %s: %v", w.id, err)
	}
	var known []string
	for n := range mostEffects {
		line := effectOf(w.id, n)
		text, told := results["call_"+line]
		unknown := strings.Contains(text, "outcome is unknown")
		sum.Ran += min(ran[line], 1)
		switch {
		case !told:
			f.Errorf("%s: the journal has no result", line)
		case unknown:
			sum.Unknown++
		case !strings.Contains(text, line) || ran[line] == 0:
			sum.Lost++
			f.Errorf("%s ran %d times outside; the model was told: %.300s", line, ran[line], text)
		}
		if ran[line] > 1 {
			sum.Twice++
			f.Errorf("%s ran %d times", line, ran[line])
		}
		if ran[line] == 0 {
			sum.NeverRan++
		}
		for _, before := range known { // each command shows the workspace's file
			if told && !unknown && !strings.Contains(text, before) {
				sum.Lost++
				f.Errorf("%s: the workspace has lost %s: %.300s", line, before, text)
			}
		}
		if told && !unknown {
			known = append(known, line)
		}
	}
}

// results reads the session's journal as a whole. It returns the results of its calls by their ids.
func (f *field) results(ctx context.Context, id string, late *watcher, sum *tally) (map[string]string, error) {
	log, err := f.space.Journals.Read(ctx, id)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	var records int64
	for r, err := range log.Records(ctx, 1) {
		if records++; err != nil || r.N != records {
			return nil, fmt.Errorf("record %d is number %d: %w", records, r.N, err)
		}
		line, err := journal.AppendLine(nil, r, false)
		if err != nil {
			return nil, err
		}
		sum.JournalBytes += int64(len(line))
	}
	if records != log.Len() {
		return nil, fmt.Errorf("%d records, but %d are to be there", records, log.Len())
	}
	sum.Records += int(records)
	facts := 0
	if err := agent.Project(ctx, log, func(agent.Event) { facts++ }); err != nil || facts != len(late.facts) {
		return nil, fmt.Errorf("the journal has %d facts, and a watcher was told %d: %w", facts, len(late.facts), err)
	}
	state, err := agent.Load(ctx, log)
	if err != nil {
		return nil, err
	}
	results := map[string]string{}
	for _, turn := range state.Turns {
		for _, part := range turn.Message.Parts {
			if r, ok := part.(llm.ToolResult); ok {
				results[r.CallID] = r.Content.Text()
			}
		}
	}
	return results, nil
}

// ran returns how often each effect of a session was counted outside of the fleet.
func (m *model) ran(id string) (map[string]int, error) {
	data, err := os.ReadFile(m.effectsFile(id))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(data)) {
		counts[strings.TrimSpace(line)]++
	}
	return counts, err
}
