package generate

import "github.com/attractor-go/attractor/llm"

// Result is everything that was generated.
type Result struct {
	// Steps are the model calls, in order, each with the tools that ran after it.
	Steps []Step
	// Usage is the sum over all steps. Attempts that failed report none.
	Usage llm.Usage
	// Messages is the whole conversation: what was given, the system message included, and what came after it. To go on, pass it
	// as Options.Messages with something added.
	Messages []llm.Message
}

// Step is one model call and what came of it.
type Step struct {
	Response *llm.Response
	// Results answer the calls that were run, in the order of the calls.
	Results []llm.ToolResult
	// Errors has for each of the Results what the tool returned as its error, nil when it succeeded: a [*Panic] for one that
	// panicked.
	Errors []error
}

// Response is the last model call's answer, nil when there is none.
func (r *Result) Response() *llm.Response {
	if len(r.Steps) == 0 {
		return nil
	}
	return r.Steps[len(r.Steps)-1].Response
}

// Text is the last answer's text.
func (r *Result) Text() string {
	if resp := r.Response(); resp != nil {
		return resp.Text()
	}
	return ""
}

// Reasoning is the last answer's readable thinking.
func (r *Result) Reasoning() string {
	if resp := r.Response(); resp != nil {
		return resp.Reasoning()
	}
	return ""
}

// OpenCalls are the last answer's calls that have no result: calls of tools without Execute, and everything that was called
// after the last round. To go on, append an [llm.ToolResults] message with their results to Messages.
func (r *Result) OpenCalls() []llm.ToolCall {
	if len(r.Steps) == 0 {
		return nil
	}
	step := r.Steps[len(r.Steps)-1]
	done := step.Results
	var open []llm.ToolCall
	for _, c := range step.Response.ToolCalls() {
		if len(done) > 0 && done[0].CallID == c.ID { // results have the order of the calls
			done = done[1:]
			continue
		}
		open = append(open, c)
	}
	return open
}

// add keeps a step and what it adds to the conversation.
func (r *Result) add(step Step) {
	r.Steps = append(r.Steps, step)
	r.Usage = r.Usage.Add(step.Response.Usage)
	r.Messages = append(r.Messages, step.Response.Message)
	if len(step.Results) > 0 {
		r.Messages = append(r.Messages, llm.ToolResults(step.Results...))
	}
}
