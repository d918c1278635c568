package agent

import (
	"github.com/attractor-go/attractor/internal/conversation"
	"github.com/attractor-go/attractor/llm"
)

// Context estimates the tokens of the next request: the provider's last count, and one token for
// every four characters that came after it. Before the first count it estimates everything by
// characters.
type Context struct {
	Counted int // input and output tokens of the last answer that has them
	Chars   int // in messages after that count
	// Warned is the highest percentage of the window at which a warning was given, 0 before the
	// first.
	Warned int
}

// charsPerToken is a rule of thumb for English text and code.
const charsPerToken = 4

// Tokens returns the estimate.
func (c *Context) Tokens() int { return c.Counted + (c.Chars+charsPerToken-1)/charsPerToken }

// Add adds a message to the estimate.
func (c *Context) Add(m llm.Message) { c.Chars += conversation.Chars(m.Parts) }

// AddTools adds definitions to the estimate. Deferred ones take nothing.
func (c *Context) AddTools(tools []llm.ToolDefinition) {
	for i := range tools {
		c.Chars += tools[i].Size()
	}
}

// measure replaces the estimate by the count of an answer whose message has just been added, and
// reports whether there is one. If the vendor has searched the web for the answer, the count is the
// sum of several rounds, and says nothing about the next request.
func (c *Context) measure(u llm.Usage) bool {
	if u.Input <= 0 || u.Searches > 0 {
		return false
	}
	c.Counted, c.Chars = u.Input+u.Output, 0
	return true
}

// A warning is given at firstWarning percent of the window, and at each further step.
const (
	firstWarning = 80
	warningStep  = 5
)

// fill reports whether the window has reached a level without a warning, and marks the level as
// warned.
func (c *Context) fill(window int) bool {
	if window <= 0 {
		return false
	}
	percent := c.Tokens() * 100 / window
	level := percent - percent%warningStep
	if level < firstWarning || level <= c.Warned {
		return false
	}
	c.Warned = level
	return true
}

// head returns the size of the system prompt and the tools, which are part of every request.
func (s *State) head() Context {
	var c Context
	c.Add(llm.System(s.Header.System))
	c.AddTools(s.tools)
	return c
}
