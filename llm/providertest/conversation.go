package providertest

import (
	"fmt"
	"testing"

	"github.com/attractor-go/attractor/llm"
)

// Conversations generates conversations for [Encoding.Prefixes]. They have thoughts with and
// without signatures, texts that are hard to encode, calls with broken arguments, results with
// images and in two messages, steering, retries, and responses of other authors.
type Conversations struct {
	// Text lists JSON of the provider's own form, which must stay plain text within a string.
	Text []string
	// Author is the name of the provider. Half of the responses have another one.
	Author string
	// Models are the authors of the responses; empty means none.
	Models []string
	// ThinkingID is the id of every thought.
	ThinkingID string
	// Late allows a retry to add a system message, for providers that can send one in the middle of
	// a conversation.
	Late bool
}

// Rounds returns one conversation: for each request, the messages that it adds to the previous one.
// All choices are made by pick, which returns a number from 0 to n-1.
func (c Conversations) Rounds(pick func(label string, n int) int) [][]llm.Message {
	d := drawer{c, pick}
	rounds := [][]llm.Message{
		{llm.System(d.text("system")), llm.System(d.text("system")), llm.User("start " + d.text("user"))}}
	for i := range 1 + pick("rounds", 6) {
		rounds = append(rounds, d.round(i))
		if pick("retries", 5) == 0 { // a failed request is followed by one with a few more messages
			more := llm.User("also")
			if c.Late && d.flip("late") {
				more = llm.System("also")
			}
			rounds = append(rounds, []llm.Message{more})
		}
	}
	return rounds
}

type drawer struct {
	Conversations
	pick func(label string, n int) int
}

func (d drawer) flip(label string) bool { return d.pick(label, 2) == 1 }

func (d drawer) of(label string, list ...string) string { return list[d.pick(label, len(list))] }

func (d drawer) text(label string) string {
	return d.of(label, append([]string{"go on", "line\n\"quoted\" <b>\u2028", "né 😀", "", "\xff", `{"type":"text"}`},
		d.Text...)...)
}

// round returns a response, the results of its calls, and what the user says.
func (d drawer) round(i int) []llm.Message {
	answer := llm.Message{Role: llm.RoleAssistant, Provider: d.of("author", d.Author, "other")}
	if len(d.Models) > 0 {
		answer.Model = d.of("model", d.Models...)
	}
	for range d.pick("thoughts", 3) {
		answer.Parts = append(answer.Parts,
			llm.Thinking{ID: d.ThinkingID, Text: "hm", Signature: d.of("signature", "", "s")})
	}
	answer.Parts = append(answer.Parts, llm.Text{Text: d.text("text"), Signature: d.of("phase", "", "commentary")})
	var results []llm.ToolResult
	for j := range d.pick("calls", 4) {
		id := fmt.Sprintf("call_%d_%d", i, j)
		free := d.flip("free")
		answer.Parts = append(answer.Parts,
			llm.ToolCall{ID: id, Name: "look", Free: free, Args: d.of("args", `{"a":1}`, "", "{")})
		result := llm.ToolResult{CallID: id, Free: free, Content: llm.TextParts(d.text("result"))}
		if d.pick("image", 4) == 0 {
			result.Content = append(result.Content, llm.Media{MIME: "image/png", Data: []byte("png")})
		}
		results = append(results, result)
	}
	round := []llm.Message{answer}
	if len(results) > 0 {
		if cut := d.pick("cut", len(results)); cut > 0 {
			round = append(round, llm.ToolResults(results[:cut]...))
			results = results[cut:]
		}
		round = append(round, llm.ToolResults(results...))
	}
	if len(results) == 0 || d.flip("steers") {
		round = append(round, llm.User("and "+d.text("more")))
	}
	return round
}

// Session runs a number of turns of a conversation with a provider, and calls each with every
// response. It appends the turns to the request: the response, the results of its calls, all with
// the same content, and in every third turn a user message.
func Session(t testing.TB, p llm.Provider, req *llm.Request, turns int, content llm.Parts,
	each func(turn int, resp *llm.Response)) {
	t.Helper()
	for i := range turns {
		resp, err := llm.Collect(p.Stream(t.Context(), req))
		if err != nil {
			t.Fatalf("turn %d: %v", i, err)
		}
		each(i, resp)
		var results []llm.ToolResult
		for _, c := range resp.ToolCalls() {
			results = append(results, llm.ToolResult{CallID: c.ID, Content: content})
		}
		req.Messages = append(req.Messages, resp.Message, llm.ToolResults(results...))
		if i%3 == 0 {
			req.Messages = append(req.Messages, llm.User("Steering."))
		}
	}
}
