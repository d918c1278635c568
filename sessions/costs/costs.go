package costs

import (
	"cmp"
	"context"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
)

// Spent holds tokens and what they cost.
type Spent struct {
	Usage llm.Usage
	USD   float64 // 0 if the prices are not known
}

func (s Spent) plus(o Spent) Spent { return Spent{s.Usage.Add(o.Usage), s.USD + o.USD} }

func (s Spent) minus(o Spent) Spent { return Spent{s.Usage.Sub(o.Usage), s.USD - o.USD} }

// A Sum sums up what a session has cost. The caller must not change its maps.
type Sum struct {
	Total    Spent            // with subagents
	Models   map[string]Spent // by provider/model; subagents count as their parent's
	Purposes map[string]Spent // by what the requests were made for, in words

	facts llm.Lookup
	asked agent.ModelName // the model of the next request
	aside agent.ModelName // the model of the next summary
	parts map[key]*part

	next  *bill // of the next request
	epoch int   // of the parts in next
	turns int   // the number of turns in next
}

// New returns the sum of a session without records. Facts has the prices of models.
func New(facts llm.Lookup) *Sum {
	return &Sum{Models: map[string]Spent{}, Purposes: map[string]Spent{}, facts: facts, parts: map[key]*part{},
		next: newBill(nil)}
}

// Read returns the sum of a session, read from its records. The session may be running.
func Read(ctx context.Context, from agent.Records, facts llm.Lookup) (*Sum, error) {
	sum, state := New(facts), new(agent.State)
	for line, err := range from.Records(ctx, 1) {
		if err == nil {
			err = state.Fold(line)
		}
		if err != nil {
			return nil, err
		}
		sum.Add(line.Kind, state)
	}
	return sum, nil
}

// Add adds the cost of the record that was folded into state last, by its kind. All records before
// it must have been added.
func (s *Sum) Add(kind string, state *agent.State) {
	total := Spent{state.Usage, state.Cost}
	if used := total.minus(s.Total); used.Usage.Total() > 0 || used.USD > 0 {
		name, purpose := s.asked.Provider+"/"+s.asked.Model, purposeOf(kind)
		s.Models[name] = s.Models[name].plus(used)
		s.Purposes[purpose] = s.Purposes[purpose].plus(used)
		s.pay(kind, used)
	}
	s.Total = total
	s.asked = agent.ModelName{Provider: state.Provider, Model: state.Model}
	writer := state.Policy.Compaction
	s.aside = s.asked
	if writer.Model != "" {
		s.aside = agent.ModelName{Provider: cmp.Or(writer.Provider, state.Provider), Model: writer.Model}
	}
	s.follow(state)
}

// Answers is the purpose of the requests of the conversation itself.
const Answers = "answers"

// purposeOf returns what a request was made for, by the kind of the record that has its usage.
func purposeOf(kind string) string {
	switch kind {
	case "answer":
		return Answers
	case "fault", "spent":
		return "attempts that failed"
	case "compact":
		return "summaries of the history"
	case "renewal":
		return "keeping the cache"
	case "child":
		return "subagents"
	}
	return "the last words at a limit"
}
