package generate

import "github.com/attractor-go/attractor/llm"

// Result holds everything that was generated.
type Result struct {
	// Steps holds the steps, in order.
	Steps []Step
	// Usage is the sum over all steps. Failed attempts report none.
	Usage llm.Usage
	// Messages is the whole conversation: the given messages, the system message included, and the
	// new ones. To continue, add to it and pass it as Options.Messages.
	Messages []llm.Message
}

// Step holds one model call and the results of its tool calls.
type Step struct {
	Response *llm.Response
	// Results has the results of the calls that ran, in the order of the calls.
	Results []llm.ToolResult
	// Errors has the tool's error for each of the Results, nil where it succeeded. For a tool that
	// panicked it is a [*PanicError].
	Errors []error
}

// Response returns the last step's response, or nil without one.
func (r *Result) Response() *llm.Response {
	if len(r.Steps) == 0 {
		return nil
	}
	return r.Steps[len(r.Steps)-1].Response
}

// Text returns the last response's text.
func (r *Result) Text() string {
	if resp := r.Response(); resp != nil {
		return resp.Text()
	}
	return ""
}

// Reasoning returns the last response's readable thinking.
func (r *Result) Reasoning() string {
	if resp := r.Response(); resp != nil {
		return resp.Reasoning()
	}
	return ""
}

// OpenCalls returns the last response's calls without a result: calls of tools without Execute, and
// all calls after the last round. To continue, append an [llm.ToolResults] message with their
// results to Messages.
func (r *Result) OpenCalls() []llm.ToolCall {
	if len(r.Steps) == 0 {
		return nil
	}
	step := r.Steps[len(r.Steps)-1]
	done := step.Results
	var open []llm.ToolCall
	for _, c := range step.Response.ToolCalls() {
		if len(done) > 0 && done[0].CallID == c.ID { // results are in the order of the calls
			done = done[1:]
			continue
		}
		open = append(open, c)
	}
	return open
}

// add appends a step, and its messages to the conversation.
func (r *Result) add(step Step) {
	r.Steps = append(r.Steps, step)
	r.Usage = r.Usage.Add(step.Response.Usage)
	r.Messages = append(r.Messages, step.Response.Message)
	if len(step.Results) > 0 {
		r.Messages = append(r.Messages, llm.ToolResults(step.Results...))
	}
}
