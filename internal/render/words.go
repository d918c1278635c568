package render

import (
	"fmt"
	"time"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
)

// Tokens returns the numbers of input and output tokens, and of searches of the web, in words. No
// usage in one turn or more means that the server has reported none.
func Tokens(u llm.Usage, turns int) string {
	if u == (llm.Usage{}) && turns > 0 {
		return "tokens unknown"
	}
	cached := ""
	if u.CacheRead > 0 {
		cached = fmt.Sprintf(" (%.0f%% cached)", 100*u.CacheHitRatio())
	}
	searched := ""
	if u.Searches == 1 {
		searched = ", 1 web search"
	} else if u.Searches > 1 {
		searched = fmt.Sprintf(", %d web searches", u.Searches)
	}
	return fmt.Sprintf("%s tokens in%s, %s out%s", Thousands(u.Input), cached, Thousands(u.Output), searched)
}

// Spent returns the usage of a number of turns as [Tokens] does and, if it is known, the price.
func Spent(u llm.Usage, turns int, usd float64) string {
	if usd == 0 {
		return Tokens(u, turns)
	}
	return fmt.Sprintf("%s · $%.4f", Tokens(u, turns), usd)
}

// Thousands returns a number, in thousands if it is long.
func Thousands(n int) string {
	if n < 10_000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%.1fk", float64(n)/1000)
}

// Count returns a number and what it counts, in the plural if that is right.
func Count(n int, what string) string { return texts.Count(n, what) }

// Rounded returns a duration with few digits, for people.
func Rounded(d time.Duration) time.Duration {
	if d > 10*time.Second {
		return d.Round(time.Second)
	}
	if d > time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}

// took returns how long a call took.
func took(ms int64) string {
	if ms == 0 {
		return "<1ms"
	}
	return Rounded(time.Duration(ms) * time.Millisecond).String()
}
