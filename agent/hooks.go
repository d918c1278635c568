package agent

import (
	"context"
	"fmt"
	"strings"
)

// Compacting is what [Options].BeforeCompact is asked about.
type Compacting struct {
	Session string // the session's id
	Agent   string // a subagent's id, as the session that started it knows it; empty for the host's own session
	// Turns are those that the summary is to replace. Read them only.
	Turns  []Turn
	Tokens int // of the whole history, an estimate
	// Requested says that [Session.Compact] asked for it, not the policy.
	Requested bool
}

// askToCompact asks BeforeCompact, and returns what the summary has to keep. Its failure is that of the compaction.
func (s *Session) askToCompact(ctx context.Context, job *summaryJob) (keep string, err error) {
	if s.beforeCompact == nil {
		return "", nil
	}
	about := Compacting{Session: s.ID(), Agent: s.agentID, Turns: job.replaced, Tokens: job.record.Before, Requested: job.record.Queued != 0}
	keep, err = host(ctx, s, "BeforeCompact", s.grace, func() (string, error) { return s.beforeCompact(ctx, about) })
	s.warnOfStuck(err)
	switch {
	case isHostError(err):
		s.giveUp(err)
		return "", err
	case err != nil:
		return "", fmt.Errorf("BeforeCompact prevented it: %w", err)
	case len(keep) > maxHookText:
		return "", fmt.Errorf("BeforeCompact returned %d bytes; it can return %d", len(keep), maxHookText)
	}
	return strings.TrimSpace(validText(keep)), nil
}
