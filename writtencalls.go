package attractor

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/tool"
)

// listenForWrittenCalls asks a model that has written a call as text, once an input, to make it
// properly, and tells the person which option of the server helps. That happens where a server of
// Chat Completions does not parse the form in which its model writes calls.
func (s *Setup) listenForWrittenCalls() {
	next := s.Options.BeforeStop
	if !s.asksByChat() {
		return
	}
	var mu sync.Mutex
	asked := map[string]bool{} // in the present input of the session or of an agent, by its name
	s.Options.BeforeStop = func(ctx context.Context, stop agent.Stop) (string, error) {
		mu.Lock()
		before := asked[stop.Agent] && stop.Confirms > 0
		name := ""
		if !before && s.asksByChat() {
			name = s.writtenCall(stop.Text)
		}
		asked[stop.Agent] = before || name != ""
		mu.Unlock()
		switch {
		case name == "" && next == nil:
			return "", nil
		case name == "" && before:
			stop.Confirms-- // the others have not sent the agent back that time
			return next(ctx, stop)
		case name == "":
			return next(ctx, stop)
		}
		s.warnings.add("written_call", fmt.Sprintf("The model has written a call of %s as text, which runs nothing, "+
			"and is asked to call it properly. If that happens again, let its server read the model's calls (vLLM: "+
			"--enable-auto-tool-choice --tool-call-parser, llama.cpp: --jinja), or choose a model that supports tools.",
			texts.Shown(name)))
		return fmt.Sprintf("Your answer has a call of the tool %s in its text. That ran nothing: the user sees it "+
			"as text. Call the tool by the API's function calling, or answer without such a text.", name), nil
	}
}

// asksByChat reports whether the session's provider speaks Chat Completions.
func (s *Setup) asksByChat() bool {
	provider, _, _ := s.Model()
	kind, err := s.table().Find(provider)
	return err == nil && kind.Format == providers.ChatCompletions
}

// writtenCall returns the name of the tool that a text calls, or "".
func (s *Setup) writtenCall(text string) string {
	for _, m := range writtenForms().FindAllStringSubmatch(text, -1) {
		name := m[3]
		var call struct {
			Name       string          `json:"name"`
			Arguments  json.RawMessage `json:"arguments"`
			Parameters json.RawMessage `json:"parameters"`
		}
		if object := m[1] + m[2]; object != "" && json.Unmarshal([]byte(object), &call) == nil &&
			len(call.Arguments)+len(call.Parameters) > 0 {
			name = call.Name
		}
		is := func(t tool.Tool) bool { return t.Name == name }
		if strings.HasPrefix(name, "mcp__") || slices.ContainsFunc(s.Options.Profile.Tools, is) ||
			slices.ContainsFunc(s.Options.Tools, is) {
			return name
		}
	}
	return ""
}

// writtenForms matches calls as the templates of models have them: an object in <tool_call> (Qwen,
// Hermes) or alone, also in a fence (Llama, Mistral, Gemma), and <function=NAME> (Qwen3 Coder).
func writtenForms() *regexp.Regexp {
	return regexp.MustCompile("(?s)<tool_call>\\s*(\\{.*?\\})\\s*(?:</tool_call>|$)" +
		"|(?:^|```(?:json|tool_call)?)\\s*(\\{.*?\\})\\s*(?:```|$)" +
		"|<function=([\\w.-]+)>")
}
