package agent

import "github.com/attractor-go/attractor/llm"

// Result holds the outcome of an input. After follow-ups [Session.Submit] returns the outcome of
// the last one, with the sums of all.
type Result struct {
	Text       string     `json:"text"` // of the last answer, joined to the answers that it continues
	Reason     Reason     `json:"reason"`
	Finish     llm.Finish `json:"finish,omitzero"` // why the last answer ended
	Usage      llm.Usage  `json:"usage"`
	CostUSD    float64    `json:"cost_usd,omitempty"` // 0 where prices are unknown
	Turns      int        `json:"turns"`
	ToolRounds int        `json:"tool_rounds"`
	// Unconfirmed reports that the task counts as done only because Hooks.BeforeStop has sent the
	// agent back as often as Policy.MaxConfirms allows: the last answer was not shown to it.
	Unconfirmed bool `json:"unconfirmed,omitempty"`
}

// Result returns the outcome of the last input that has ended, with the sums of that input alone.
// It returns nil before the first.
func (s *Session) Result() *Result {
	_, in := s.inputs()
	if in == nil {
		return nil
	}
	return in.result()
}

// result returns the outcome of an input that has ended.
func (in *Input) result() *Result {
	return &Result{Text: in.Final, Reason: in.Reason, Finish: in.Finish, Usage: in.Usage, CostUSD: in.Cost,
		Turns: in.Turns, ToolRounds: in.Rounds,
		Unconfirmed: in.Unconfirmed}
}

// result returns the Result of the work since before, whose last input is in.
func (s *Session) result(in *Input, before totals) *Result {
	now, r := s.state.totals(), in.result()
	r.Usage, r.CostUSD = now.usage.Sub(before.usage), now.cost-before.cost
	r.Turns, r.ToolRounds = now.turns-before.turns, now.rounds-before.rounds
	return r
}
