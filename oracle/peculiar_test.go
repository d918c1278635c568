package oracle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// peculiarity is an accepted difference between our reading of an answer and an SDK's. Each says
// when it applies, and must occur in some recording.
type peculiarity struct {
	format string
	fields []string
	reason string
	holds  func(c comparison) bool
	used   int
}

// comparison holds an answer and its outcomes.
type comparison struct {
	body      string
	ours, sdk outcome
}

// newPeculiarities returns the accepted differences.
func newPeculiarities() []*peculiarity {
	return []*peculiarity{
		{format: "chat", fields: []string{"Usage"},
			reason: "xAI counts reasoning beside the completion; that it is billed as output shows in the total",
			holds: func(c comparison) bool {
				u := c.sdk.last
				u.Output += u.Reasoning
				return u.Reasoning > 0 && u == c.ours.Usage && u.Total() == c.sdk.total
			}},
		{format: "chat", fields: []string{"Usage"},
			reason: "Vercel's gateway counts Gemini's reasoning beside the completion too, and only its price shows it",
			holds: func(c comparison) bool {
				u := c.sdk.last
				u.Output += u.Reasoning
				return u.Reasoning > c.sdk.last.Output && u == c.ours.Usage
			}},
		{format: "chat", fields: []string{"Usage"},
			reason: "the SDK's accumulator adds up the counts of all chunks, but where several have some (Groq, " +
				"Perplexity) they are totals so far",
			holds: func(c comparison) bool { return c.sdk.last == c.ours.Usage && c.sdk.last != c.sdk.Usage }},
		{format: "chat", fields: []string{"Usage"},
			reason: "Kimi and DeepSeek have a name of their own for the cached input, and llama.cpp has it among " +
				"its timings",
			holds: func(c comparison) bool {
				u := c.sdk.last
				u.CacheRead = c.ours.Usage.CacheRead
				for _, member := range []string{"cached_tokens", "prompt_cache_hit_tokens", "cache_n"} {
					if strings.Contains(strings.ReplaceAll(c.body, " ", ""), fmt.Sprintf(`"%s":%d`, member,
						u.CacheRead)) && u == c.ours.Usage {
						return true
					}
				}
				return false
			}},
		{format: "chat", fields: []string{"Text", "Thinking"},
			reason: "Mistral's content is a list of parts when it thinks, which the SDK hands on as text",
			holds: func(c comparison) bool {
				return mistralText(c.sdk.Text) == [2]string{c.ours.Text, c.ours.Thinking}
			}},
		{format: "chat", fields: []string{"Calls"},
			reason: "a gateway numbers the calls of Claude from 1, after its text, and the SDK puts an empty call " +
				"before them",
			holds: func(c comparison) bool {
				return slices.Equal(c.ours.Calls,
					slices.DeleteFunc(slices.Clone(c.sdk.Calls), func(x call) bool { return x == call{} }))
			}},
		{format: "gemini", fields: []string{"Failed"},
			reason: "calls in pieces exist on Vertex AI only, and only for those who ask for them: we say that they " +
				"are unsupported",
			holds: func(c comparison) bool { return c.ours.Failed && strings.Contains(c.body, `"partialArgs"`) }},
	}
}

// mistralText returns the text and the thinking in a sequence of lists of typed parts.
func mistralText(lists string) (out [2]string) {
	type part struct {
		Type, Text string
		Thinking   []struct{ Text string }
	}
	for dec := json.NewDecoder(strings.NewReader(lists)); ; {
		var parts []part
		if dec.Decode(&parts) != nil {
			return out
		}
		for _, p := range parts {
			out[0] += p.Text
			for _, t := range p.Thinking {
				out[1] += t.Text
			}
		}
	}
}

// explain returns the peculiarity that explains a difference.
func explain(list []*peculiarity, format, field string, c comparison) *peculiarity {
	for _, p := range list {
		if p.format == format && slices.Contains(p.fields, field) && p.holds(c) {
			return p
		}
	}
	return nil
}
