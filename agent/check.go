package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/objectschema"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// check returns an error for options that cannot work, in a new or a resumed session. It says what
// to do.
func (o *Options) check() error {
	switch {
	case o.Client == nil:
		return errors.New("agent: Options.Client is missing")
	case o.Env == nil:
		return errors.New("agent: Options.Env is missing")
	case o.Request.Temperature != nil && (*o.Request.Temperature < 0 || math.IsNaN(*o.Request.Temperature)):
		return fmt.Errorf("agent: Options.Request.Temperature is %v; it is a number from 0 on, or nil for the "+
			"provider's default", *o.Request.Temperature)
	}
	for name, raw := range map[string]json.RawMessage{"Request.ProviderOptions": o.Request.ProviderOptions,
		"Profile.Options": o.Profile.Options} {
		if raw != nil && !objectschema.IsObject(raw) {
			return fmt.Errorf("agent: Options.%s has to be one JSON object, and is %s", name, objectschema.Shown(raw))
		}
	}
	if err := o.Policy.check("Options", o.Client.Provider, o.BeforeStop != nil); err != nil {
		return err
	}
	return o.checkLimits()
}

// check returns an error for a policy that cannot work. Of is what the error calls the policy, and
// confirms reports whether the session has the hook BeforeStop. Negative numbers are left to
// notNegative.
func (p *Policy) check(of string, provider func(name string) (llm.Provider, error), confirms bool) error {
	switch {
	case p.MaxConfirms != 0 && !confirms:
		return fmt.Errorf("agent: %s.MaxConfirms limits Options.BeforeStop, which is missing", of)
	case p.OnLimit != EndOnLimit && p.OnLimit != SummarizeOnLimit:
		return fmt.Errorf("agent: %s.OnLimit is %q; it can be empty or %q", of, p.OnLimit, SummarizeOnLimit)
	case p.OnFailure != CloseOnFailure && p.OnFailure != StayOnFailure:
		return fmt.Errorf("agent: %s.OnFailure is %q; it can be empty or %q", of, p.OnFailure, StayOnFailure)
	case !slices.Contains([]CacheLifetime{CacheByPauses, CacheForPerson, CacheShort, CacheLong}, p.CacheLifetime):
		return fmt.Errorf("agent: %s.CacheLifetime is %q; it can be empty, %q, %q or %q", of, p.CacheLifetime,
			CacheForPerson, CacheShort, CacheLong)
	case p.Compaction.Threshold < 0 || p.Compaction.Threshold > 1:
		return fmt.Errorf("agent: %s.Compaction.Threshold is %v; it is a share of the window, from 0 to 1", of,
			p.Compaction.Threshold)
	}
	if p.Result != nil {
		if _, err := objectschema.Checker(p.Result.Schema); err != nil {
			return fmt.Errorf("agent: %s.Result.Schema: %w", of, err)
		}
	}
	if name := p.Compaction.Provider; name != "" {
		if _, err := provider(name); err != nil {
			return fmt.Errorf("agent: the provider of %s.Compaction: %w", of, err)
		}
	}
	return p.Fallbacks.check(of, provider)
}

// numbers returns the numbers of a policy that cannot be negative, by their names.
func (p *Policy) numbers() map[string]float64 {
	return map[string]float64{"MaxToolRounds": float64(p.MaxToolRounds), "MaxTurns": float64(p.MaxTurns),
		"Budget.Tokens": float64(p.Budget.Tokens),
		"Budget.USD":    p.Budget.USD, "Budget.Time": float64(p.Budget.Time), "Loops.Window": float64(p.Loops.Window),
		"Compaction.KeepTurns": float64(p.Compaction.KeepTurns)}
}

// checkLimits returns an error for negative numbers that mean nothing.
func (o *Options) checkLimits() error {
	limits := o.numbers()
	maps.Copy(limits, map[string]float64{"Request.MaxTokens": float64(o.Request.MaxTokens), "Grace": float64(o.Grace),
		"Retry.Base": float64(o.Retry.Base), "Retry.Cap": float64(o.Retry.Cap), "MaxJournal": float64(o.MaxJournal),
		"KeepOutputs": float64(o.KeepOutputs), "Diffs": float64(o.Diffs)})
	if o.Subagents != nil {
		if err := o.Subagents.check(); err != nil {
			return err
		}
		limits["Subagents.Depth"], limits["Subagents.MaxRunning"] = float64(o.Subagents.Depth),
			float64(o.Subagents.MaxRunning)
	}
	return notNegative("Options", limits)
}

// notNegative returns an error that names the numbers that are negative, nil when none is.
func notNegative(of string, numbers map[string]float64) error {
	var negative []string
	for name, value := range numbers {
		if value < 0 || math.IsNaN(value) {
			negative = append(negative, of+"."+name)
		}
	}
	if len(negative) == 0 {
		return nil
	}
	slices.Sort(negative)
	return fmt.Errorf("agent: %s cannot be negative; 0 means no limit, or the default", strings.Join(negative, ", "))
}

// checkNew returns an error for options that cannot work in a new session. A resumed one takes them
// from its journal.
func (o *Options) checkNew() error {
	p := &o.Profile
	if p.Name+p.Provider+p.Prompt+o.System == "" && len(p.Tools)+len(o.Tools) == 0 {
		return errors.New("agent: Options.Profile is empty: take one of the packages profile/anthropic, " +
			"profile/openai and profile/gemini, or give it a Provider, a Prompt or Tools of your own")
	}
	if _, err := o.Client.Provider(cmp.Or(o.Provider, o.Profile.Provider)); err != nil {
		return fmt.Errorf("agent: the provider of the session is Options.Provider, or else the profile's: %w", err)
	}
	if o.State != nil {
		return errors.New("agent: Options.State is for Resume; a new session has none")
	}
	if o.Dir != "" && o.Dir != o.Env.WorkDir() {
		return fmt.Errorf("agent: Options.Dir is %s, but Options.Env works in %s", o.Dir, o.Env.WorkDir())
	}
	return nil
}

// checkChoice returns an error for a choice of a tool that the session does not have.
func checkChoice(choice llm.ToolChoice, tools *tool.Registry) error {
	if choice.Mode != llm.ToolNamed {
		return nil
	}
	if _, ok := tools.Get(choice.Name); !ok {
		return fmt.Errorf("agent: Options.Request.ToolChoice names the tool %q, which the session does not have; "+
			"it has %s", choice.Name, strings.Join(tools.Names(), ", "))
	}
	return nil
}
