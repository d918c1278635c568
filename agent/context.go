package agent

import (
	"unicode/utf8"

	"github.com/attractor-go/attractor/llm"
)

// Context is an estimate of how many tokens the next request has: what the provider counted last, and one
// token for four characters of what came after; without a count, all by characters.
type Context struct {
	Counted int // input and output tokens of the last answer with a usage
	Chars   int // of the messages that the count does not have
	// Warned is the highest percentage of the window at which a warning was given, 0 before the first.
	Warned int
}

// charsPerToken is the rule of thumb for English text and code.
const charsPerToken = 4

// mediaChars stands for an image or another medium, whose tokens do not depend on its bytes: about what an image of a megapixel costs.
const mediaChars = 1_500 * charsPerToken

// Tokens is the estimate.
func (c *Context) Tokens() int { return c.Counted + (c.Chars+charsPerToken-1)/charsPerToken }

func (c *Context) add(m llm.Message) { c.Chars += chars(m.Parts) }

func (c *Context) addTools(tools []llm.ToolDefinition) {
	for _, t := range tools {
		c.Chars += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
}

// measure takes the count of an answer, whose message has just been added.
func (c *Context) measure(u llm.Usage) {
	if u.Input > 0 {
		c.Counted, c.Chars = u.Input+u.Output, 0
	}
}

func chars(parts llm.Parts) int {
	n := 0
	for _, part := range parts {
		switch p := part.(type) {
		case llm.Text:
			n += utf8.RuneCountInString(p.Text)
		case llm.Thinking:
			n += utf8.RuneCountInString(p.Text)
		case llm.ToolCall:
			n += utf8.RuneCountInString(p.Args) + len(p.Name)
		case llm.ToolResult:
			n += chars(p.Content)
		case llm.Media:
			n += mediaChars
		}
	}
	return n
}

// The percentages of the window at which a warning is given: the first, and the step to each further one.
const (
	firstWarning = 80
	warningStep  = 5
)

// fill reports whether the window is filled up to a level that was not warned of, and notes it.
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

// head is the part of every request: the system prompt and the tools.
func (s *State) head() Context {
	var c Context
	for _, m := range s.messages[:1] {
		c.add(m)
	}
	c.addTools(s.tools)
	return c
}
