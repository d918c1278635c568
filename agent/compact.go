package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/conversation"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/tool"
)

// CompactionPolicy says when a summary replaces the beginning of the history for the model. Its
// zero value never compacts.
type CompactionPolicy struct {
	// Threshold is the share of the model's window, from 0 to 1, at which the history is compacted
	// before the next model call. 0 turns compaction off, also after a request that did not fit.
	// Without a known window only such requests lead to a compaction.
	Threshold float64 `json:"threshold,omitempty"`
	// KeepTurns is the number of newest turns that stay as they are: 6 unless set. Fewer stay if
	// they would fill a quarter of the window.
	KeepTurns int `json:"keep_turns,omitempty"`
	// Provider and Model write the summary; the session's own unless set. A Model without a
	// Provider is one of the provider that the host has chosen.
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
}

// DefaultCompaction is a good Threshold for hosts that want compaction.
const DefaultCompaction = 0.85

const defaultKeepTurns = 6

func (c *CompactionPolicy) on() bool { return c.Threshold > 0 }

// unknownWindow stands for an unknown window, in tokens. It is the smallest of today's models.
const unknownWindow = 32_000

// windowOr returns a window, or unknownWindow if it is not known.
func windowOr(window int) int {
	if window <= 0 {
		return unknownWindow
	}
	return window
}

// compactionDue reports whether the history has to be compacted before the next model call.
func (s *State) compactionDue() bool {
	p := &s.Policy
	if s.compactionFailedAt == s.Steps+1 {
		return false
	}
	if s.Queued(LaneCompactions) != nil {
		return true
	}
	return p.Compaction.on() && p.Window > 0 &&
		float64(s.Context.Tokens()) >= p.Compaction.Threshold*float64(p.Window) && s.grown() && s.compacts()
}

// grown reports whether the history has become longer by a sixteenth of the window since the last
// compaction. Without that, a compaction that fails, or that leaves more than the threshold, would
// be paid for again after each answer.
func (s *State) grown() bool {
	return s.compactedAt == 0 || s.Context.Tokens() >= s.compactedAt+s.Policy.Window/16
}

// compacts reports whether a compaction makes sense: there is something to replace, and none has
// failed since the last answer in this input.
func (s *State) compacts() bool { return s.compactionFailedAt != s.Steps+1 && s.retained() > 0 }

// compactsAtRest reports whether the host asked for a compaction in an idle session.
func (s *State) compactsAtRest() bool {
	return s.Input == nil && s.awaiting() == nil && s.Queued(LaneCompactions) != nil
}

// compactionStep returns the step of a compaction.
func (s *State) compactionStep() Step { return Step{Act: ActCompact, First: s.retained()} }

// rooms holds how much of the window each part of a compacted history may take, in characters.
type rooms struct {
	messages int // of people, beside the task
	turn     int // all else in the turn with the summary
	turns    int // the turns that stay
}

// rooms divides half of the window, less the system prompt, the tools and the todo list. Messages
// get up to a quarter of the window; the summary's turn and the turns that stay share the rest. The
// running task comes on top, and leaves less for the others if it is long.
func (s *State) rooms() rooms {
	window := windowOr(s.Policy.Window) * charsPerToken
	task, messages := 0, 0
	for at, i := s.task(), 0; i < len(s.said); i++ {
		if m := &s.said[i]; m.Turn == at && m.Kind == conversation.Task {
			task = m.Size()
		} else if !m.Short {
			messages += m.Size()
		}
	}
	all := min(window/2, window*3/4-task) - s.head().Chars - len(s.Notes[tool.PlanNote].Data) - charsPerToken
	all = max(all, window/8)
	most := min(window/4, all*3/5)
	rest := all - min(messages, most)
	return rooms{messages: most, turn: rest / 2, turns: rest / 2}
}

// retained returns the index of the first turn that stays, 0 if there is nothing to replace.
// Results stay with their calls.
func (s *State) retained() int {
	keep := s.Policy.Compaction.KeepTurns
	if keep <= 0 {
		keep = defaultKeepTurns
	}
	room, task := s.rooms().turns, s.task()
	first := len(s.Turns)
	for ; first > 0 && len(s.Turns)-first < keep; first-- {
		t := &s.Turns[first-1]
		if t.Number == task {
			continue
		}
		if room -= conversation.Chars(t.Message.Parts); room < 0 {
			break
		}
	}
	for first < len(s.Turns) && s.Turns[first].Kind == TurnToolResults {
		first++ // results mean nothing without their calls
	}
	if first == 1 && s.Turns[0].Kind == TurnCompaction {
		return 0
	}
	return first
}

// Compact asks for a compaction before the next model call, or at once in an idle session. It
// returns when the request is durable; in an idle session, when the history is compacted or a
// WARNING has said why it is not. If ctx ends first, Compact returns context.Cause(ctx) and the
// next input compacts the history. If the session ends first, the error is an [ErrClosed].
func (s *Session) Compact(ctx context.Context) error {
	if err := s.commitDurably(ctx, queuedRecord{Lane: LaneCompactions, Source: sourceHost}); err != nil {
		return err
	}
	var ended error
	_, err := s.work(ctx, func(run context.Context) (err error) {
		if look(s, (*State).compactsAtRest) {
			_, err = s.step(run)
		}
		ended = context.Cause(run)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return cmp.Or(err, context.Cause(ctx))
	case errors.Is(err, ErrBusy):
		return nil // the running input does it
	}
	return cmp.Or(err, ended, s.givenAway())
}

// compact makes the side call for the summary and commits the compaction, or its failure.
func (s *Session) compact(ctx context.Context, step Step) error {
	if err := s.sync(context.Background()); err != nil {
		return err
	}
	job := look(s, func(*State) summaryJob { return s.summaryJob(step.First) })
	job.facts = s.facts(job.provider, job.record.Model)
	rec := job.record
	if len(job.replaced) == 0 {
		rec.Failed = "there is nothing to compact yet"
		return s.commit(rec)
	}
	answer, err := s.summary(ctx, &job)
	rec.Usage, rec.Cost = answer.usage, answer.cost
	switch {
	case err != nil && (ctx.Err() != nil || s.life.Err() != nil || errors.Is(err, s.givenAway())):
		return nil // the next step ends the input
	case err != nil:
		rec.Failed = validText(err.Error())
	case strings.TrimSpace(answer.text) == "":
		rec.Failed = emptySummary
	default:
		rec.Summary = answer.text
		rec.Text, rec.More = job.turn(rec.Summary, s.kept(job.outputs))
		if err := s.commit(rec); err != nil {
			return err
		}
		s.archive.add(job.replaced)
		return nil
	}
	return s.commit(rec)
}

// summary asks BeforeCompact and then the model.
func (s *Session) summary(ctx context.Context, job *summaryJob) (sideAnswer, error) {
	keep, err := s.askToCompact(ctx, job)
	if err != nil {
		return sideAnswer{}, err
	}
	req := job.request(keep)
	return s.sideCall(ctx, req, tokensOf(req))
}

// A summaryJob holds what a compaction needs of the session.
type summaryJob struct {
	record   compactRecord
	replaced []Turn
	before   string // the summary of the turns before them
	words    conversation.Words
	plan     string
	dir      string // the working directory, if the system prompt has another one
	outputs  []outputMark
	readable bool // read_output is offered
	room     int  // for the turn, in characters
	provider string
	quirks   []llm.Quirk
	facts    *llm.Model
	caller   llm.Caller
}

// summaryJob returns the job that replaces the turns before first. It is called with the lock held.
func (s *Session) summaryJob(first int) summaryJob {
	st := &s.state
	rooms := st.rooms()
	job := summaryJob{replaced: st.Turns[:first:first], before: st.summary, plan: string(st.Notes[tool.PlanNote].Data),
		outputs: slices.Clone(st.outputs), readable: st.offersTool(tool.ReadOutput), room: rooms.turn,
		caller: s.callerOf(PurposeCompaction)}
	if dir := st.Dir(); dir != st.Header.Dir {
		job.dir = dir
	}
	writer := st.summaryWriter()
	job.provider, job.quirks = writer.Provider, st.mended[writer].Quirks
	job.record = compactRecord{First: first, Before: st.Context.Tokens(), Model: writer.Model}
	for _, q := range st.Queue {
		if q.Lane == LaneCompactions {
			job.record.Queued = q.ID
		}
	}
	stays := st.turnCount + 1
	if first < len(st.Turns) {
		stays = st.Turns[first].Number
	}
	job.words.Whole, job.words.Short = st.splitMessages(stays, rooms.messages)
	if task := st.task(); st.Input != nil && task < stays {
		job.words.Task = task
	}
	return job
}

// request returns the request for the summary. The transcript fills at most half of the window.
func (j *summaryJob) request(keep string) *llm.Request {
	window := 0
	if j.facts != nil {
		window = j.facts.Window
	}
	prompt := summaryPrompt
	if keep != "" {
		prompt += "\n\nFor this summary in particular:\n" + keep
	}
	text := transcript(j.before, j.replaced, windowOr(window)/2*charsPerToken)
	return &llm.Request{Provider: j.provider, Model: j.record.Model, Facts: j.facts, Caller: j.caller, Quirks: j.quirks,
		Messages: []llm.Message{llm.System(prompt), llm.User(text)}}
}

// summaryWriter returns the model that writes summaries: the one that is asked, unless the policy
// names a provider or a model. What the policy leaves out is then the chosen model's, because the
// policy was not made for a fallback.
func (s *State) summaryWriter() ModelName {
	c, chosen := &s.Policy.Compaction, s.chosen()
	if c.Provider == "" && c.Model == "" {
		return s.askedModel()
	}
	return ModelName{cmp.Or(c.Provider, chosen.Provider), cmp.Or(c.Model, chosen.Model)}
}

// kept returns the outputs that can still be read. A resumed session has only those that its
// journal keeps.
func (s *Session) kept(marks []outputMark) []outputMark {
	return slices.DeleteFunc(marks, func(m outputMark) bool { return !s.outputs.has(m.id) })
}

// turn returns the text and media of the turn that replaces the others. The summary gets half of
// the room; the lists of shortened messages and of outputs share the rest. The messages of people
// and the todo list are unchanged.
func (j *summaryJob) turn(summary string, outputs []outputMark) (text string, media llm.Parts) {
	var b strings.Builder
	b.WriteString("The conversation up to here was replaced by this summary, because it had become too long.\n\n")
	b.WriteString(conversation.Limited(strings.TrimSpace(summary), j.room/2))
	if j.readable {
		fmt.Fprintf(&b, "\n\nThe turns 1 to %d, as they were, can be read with read_output: give it turns (such as "+
			"\"3-5\"), or a pattern to search all of them.", j.lastReplaced())
	}
	if j.dir != "" {
		b.WriteString("\n\nWorking directory: " + sanitize.Line(j.dir))
	}
	media = j.words.Write(&b, j.room/5, j.readable)
	if j.plan != "" {
		b.WriteString("\n\nYour todo list, as you last gave it:\n" + j.plan)
	}
	if len(outputs) == 0 || !j.readable {
		return b.String(), media
	}
	var names string
	for _, o := range slices.Backward(outputs) { // the newest first, as far as there is room
		name := fmt.Sprintf(" %s (%s)", o.id, o.tool)
		if len(names)+len(name) > j.room/5 {
			break
		}
		names += name
	}
	return b.String() + "\n\nWhole outputs of earlier calls can still be read with read_output, the newest first:" +
		names, media
}

// lastReplaced returns the number of the newest replaced turn that is not itself a summary.
func (j *summaryJob) lastReplaced() int {
	last := 0
	for _, t := range j.replaced {
		if t.Kind != TurnCompaction {
			last = t.Number
		}
	}
	return last
}

// emptySummary is the reason for which a compaction failed although its side call did not.
const emptySummary = "the summary is empty"

const summaryPrompt = `You write the memory of a coding agent whose conversation has become too long. You are given what was said and done so far. Write what the agent needs to go on without it, and nothing else:
- what the user asked for, with every condition and preference, in the user's words where they matter;
- what was done: files read, made and changed (with paths), commands run and what came of them;
- what was found out: causes, decisions and their reasons, facts about the code;
- what is left to do, and the very next step.
Keep exact names, paths, numbers and error texts. Do not invent anything. Do not address the user.`

// shownOfResult limits a call or a result in the transcript of a compaction, in bytes.
const shownOfResult = 4_000

// transcript returns turns as text behind the summary of earlier ones, cut to most bytes in its
// middle.
func transcript(before string, turns []Turn, most int) string {
	var b strings.Builder
	if before != "" {
		before = "[summary of what came before] " + conversation.Limited(strings.TrimSpace(before), most/3) + "\n"
	}
	for _, t := range turns {
		if t.Kind != TurnCompaction {
			b.WriteString(conversation.Transcript(t.Message.Parts, string(t.Kind), shownOfResult))
		}
	}
	return before + conversation.Limited(b.String(), most-len(before))
}

// addMessage adds a message of the turn that is added next.
func (s *State) addMessage(kind, asked string, parts llm.Parts) {
	s.said = append(s.said, conversation.Said{Turn: s.turnCount + 1, Kind: kind, Asked: asked, Parts: parts})
}

// task returns the number of the running task's turn, or of the task that Continue would go on
// with. It returns 0 if there is none.
func (s *State) task() int {
	if s.Input == nil && (s.Last == nil || s.Last.Reason.isDone()) {
		return 0
	}
	for _, m := range slices.Backward(s.said) {
		if m.Kind == conversation.Task {
			return m.Turn
		}
	}
	return 0
}

// splitMessages divides the messages of the turns before a turn into those that a compaction keeps
// whole and those that it shortens.
func (s *State) splitMessages(before, limit int) (whole, short []conversation.Said) {
	return conversation.Split(s.said, s.task(), before, limit)
}

// shortenMessages shortens the messages that no later compaction will keep whole, so that the state
// stays small.
func (s *State) shortenMessages() {
	_, short := s.splitMessages(s.turnCount+1, windowOr(s.Policy.Window)*charsPerToken/4)
	s.said = conversation.Replace(s.said, short)
}
