package agent

import (
	"context"
	"sync"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/guard"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// toolSession is a session as one of its calls sees it.
type toolSession struct {
	*Session
	call *call
}

func (t *toolSession) Outputs() tool.Outputs { return t.outputs }

func (t *toolSession) History() tool.History { return t.archive }

func (t *toolSession) Processes() tool.Processes { return t.processes }

func (t *toolSession) Agents() tool.Agents {
	switch {
	case t.agents == nil:
		return nil
	case t.call == nil || t.call.spawns == nil:
		return t.agents
	}
	return &spawner{t.agents, t.call.spawns}
}

// Files returns what the session has seen of files.
func (t *toolSession) Files() tool.Files { return t }

// Seen implements [tool.Files].
func (t *toolSession) Seen(path string) (h env.Hash, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h, ok = t.state.Seen[path]
	return h, ok
}

// Ask asks the host. Where the answer is to come with the next input, the call is marked, and stays open when the tool returns.
func (t *toolSession) Ask(ctx context.Context, q tool.Question) (tool.Answer, error) {
	if t.questions == nil {
		return tool.Answer{}, tool.ErrNobody
	}
	asked := &awaitRecord{CallID: t.call.Call.ID, Question: q.Text, Options: q.Options}
	if t.questions.Answer == nil {
		t.call.later.Store(asked)
		return tool.Answer{}, tool.ErrLater
	}
	t.wait(1)
	over := sync.OnceFunc(func() { t.wait(-1) })
	defer over()
	defer context.AfterFunc(ctx, over)() // an answer that does not care about its context holds up nothing
	t.events.emit(&InputRequested{CallID: asked.CallID, Question: q.Text, Options: q.Options})
	answer, err := guard.Value("Questions.Answer", func() (tool.Answer, error) { return t.questions.Answer(ctx, q) })
	if err = hostError(err); isHostError(err) {
		t.giveUp(err)
	}
	if err == nil {
		t.call.asked.Store(&q.Text)
	}
	return answer, err
}

// questions are those that wait for an answer, as a session that is resumed tells its host again.
func (s *State) questions() []Event {
	var open []Event
	for _, c := range s.Open() {
		if c.Question != nil {
			open = append(open, &InputRequested{CallID: c.ID, Question: c.Question.Question, Options: c.Question.Options})
		}
	}
	return open
}

// wait counts the questions that the host is answering.
func (t *toolSession) wait(by int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asking += by
}

func (t *toolSession) State(key any, init func() any) any { return t.memory.State(key, init) }

// answer makes an input the result of the call that asked for it. The two are written together: an input without its answer would
// lose it.
func (s *Session) answer(asked llm.ToolCall, input *inputRecord) error {
	content := append(llm.TextParts(input.Text), input.More...)
	err := s.commit(inputRecord{Text: input.Text, More: input.More, Answers: asked.ID},
		resultRecord{CallID: asked.ID, Name: asked.Name, Content: content, Bytes: int64(len(content.Text()))})
	s.events.flush()
	return err
}
