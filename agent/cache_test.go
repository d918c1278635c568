package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/tool"
)

// day sums up a day of a session.
type day struct {
	usd   float64
	cold  []agent.ColdReason
	usage llm.Usage
}

// spendDay runs a day against a server whose cache forgets as Anthropic's does: ten rounds, of
// which one has a command of eight minutes, a question that a person answers after twenty minutes,
// three more rounds, a night, and three rounds of the resumed session.
func spendDay(t *testing.T, policy agent.Policy) (d day) {
	synctest.Test(t, func(t *testing.T) {
		var turns []fakellm.Turn
		for _, rounds := range []int{10, 3, 3} {
			for range rounds {
				turns = append(turns, fakellm.Turn{Calls: []fakellm.Call{{ID: fmt.Sprintf("call_%d", len(turns)),
					Name: "work",
					Args: json.RawMessage(`{}`)}}})
			}
			turns = append(turns, fakellm.Turn{Text: "Is that right?"})
		}
		server := fakellm.New(fakellm.Script(turns...), fakellm.Options{})
		facts, _ := catalog.New().Get("anthropic", "claude-sonnet-5-5")
		log := new(journal.Memory)
		s := setup{tools: []tool.Tool{working(6_000)}, options: agent.Options{Journal: log, Policy: policy},
			models: func(string, string) (llm.Model, bool) { return facts, true },
			wrap: func(llm.Provider) llm.Provider {
				return renewer{testNamed{newWire(t, "anthropic", server)}, 0, new(atomic.Int32), new(atomic.Int32)}
			}}
		var h *host
		for i, pause := range []time.Duration{20 * time.Minute, 10 * time.Hour, 0} {
			if i != 1 { // the second input goes to the first process
				h = open(t, s)
			}
			h.submit(t, "Go on. "+strings.Repeat("The task is long. ", 3000), agent.ReasonCompleted)
			if i != 0 {
				for _, end := range only[*agent.StepEnd](h) {
					d.usage = d.usage.Add(end.Usage)
					if end.Cold != nil {
						d.cold = append(d.cold, end.Cold.Reason)
					}
				}
				for _, end := range only[*agent.ProcessingEnd](h) {
					d.usd += end.CostUSD
				}
				if err := h.Close(); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(pause)
		}
	})
	return d
}

// working returns a tool that takes twenty seconds, and the fifth time eight minutes. Its result
// has a size.
func working(size int) tool.Tool {
	calls := 0
	return newTool("work", readOnly, func(context.Context, *tool.Call) (tool.Result, error) {
		if calls++; calls == 5 {
			time.Sleep(8 * time.Minute)
		}
		time.Sleep(20 * time.Second)
		return tool.Text(strings.Repeat("output of it. ", size/14)), nil
	})
}

// A day costs what docs/models.md says, by policy: its table is made by this test.
func TestV5_ADayByPolicy(t *testing.T) {
	var table strings.Builder
	costs := map[string]day{}
	for _, choice := range []struct {
		name   string
		policy agent.Policy
	}{
		{"`5m`", agent.Policy{CacheLifetime: agent.CacheShort}},
		{"`5m`, with `--keep-cache`", agent.Policy{CacheLifetime: agent.CacheShort, KeepCache: true}},
		{"`auto`, in `run`", agent.Policy{}},
		{"`auto`, in `run`, with `--keep-cache`", agent.Policy{KeepCache: true}},
		{"`auto`, where a person is expected", agent.Policy{CacheLifetime: agent.CacheForPerson}},
		{"`1h`", agent.Policy{CacheLifetime: agent.CacheLong}},
	} {
		d := spendDay(t, choice.policy)
		costs[choice.name] = d
		fmt.Fprintf(&table, "| %s | $%.2f | %d |\n", choice.name, d.usd, len(d.cold))
	}
	page, err := os.ReadFile("../docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), table.String()) {
		t.Errorf("docs/models.md does not have this table:\n%s", table.String())
	}
	short, pauses, person := costs["`5m`"], costs["`auto`, in `run`"], costs["`auto`, where a person is expected"]
	if kept := costs["`5m`, with `--keep-cache`"]; kept.usd >= short.usd || len(kept.cold) != len(short.cold)-1 {
		t.Errorf("with the cache kept $%v, cold %v; without $%v, cold %v", kept.usd, kept.cold, short.usd, short.cold)
	}
	if person.usd >= pauses.usd || pauses.usd >= short.usd {
		t.Errorf("for a person $%v, by pauses $%v, five minutes $%v: want less in this order", person.usd, pauses.usd,
			short.usd)
	}
	if !slices.Equal(short.cold, []agent.ColdReason{agent.ColdExpired, agent.ColdExpired, agent.ColdExpired}) ||
		len(person.cold) != 1 {
		t.Errorf("the rounds that found the cache cold: %v with five minutes, %v for a person", short.cold, person.cold)
	}
}
