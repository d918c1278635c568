package attractor

import (
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/settings"
)

// DefaultMCPWait is how long a session that nobody looks at waits for MCP servers that are still
// starting.
const DefaultMCPWait = 10 * time.Second

// DefaultLimits returns what a session records for those who look at it later: a viewer, an editor,
// /diff.
func DefaultLimits() agent.Limits {
	return agent.Limits{MaxJournal: settings.DefaultJournal, KeepOutputs: settings.DefaultOutputs,
		Diffs: settings.DefaultDiffs}
}

// DefaultPolicy returns the policy of a session for which nobody has said anything else: with a
// limit of rounds, and with compaction.
func DefaultPolicy() agent.Policy {
	return agent.Policy{MaxToolRounds: settings.DefaultRounds,
		Compaction: agent.CompactionPolicy{Threshold: agent.DefaultCompaction}}
}
