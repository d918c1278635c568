package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/conversation"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// Fold folds a journal line into the state. If it returns an error, the line cannot be read and the
// state is unchanged.
func (s *State) Fold(line journal.Record) error {
	rec, at, err := decodeRecord(line)
	if err != nil {
		return err
	}
	if err := s.accepts(rec); err != nil {
		return fmt.Errorf("agent: record %d: %w", line.N, err)
	}
	s.fold(rec, line.Time)
	s.size += sizeOf(line)
	s.seq = at.Seq
	if end, ok := rec.(endRecord); ok && end.Session {
		s.seq++ // SESSION_END
	} else {
		s.seq += seqReserve
	}
	return nil
}

// seqReserve counts the numbers of events that stay free when a session is resumed after a crash,
// for the deltas that its host had seen after the last record.
const seqReserve = 1 << 20

func (s *State) fold(rec record, at time.Time) {
	s.Records++
	switch r := rec.(type) {
	case headerRecord:
		s.Header, s.Provider, s.Model, s.Effort, s.tools = r.Header, r.Provider, r.Model, r.Effort, r.Tools
		s.Machine, s.Policy = r.Machine, r.Policy
		s.messages = append(s.messages, llm.System(r.System))
		s.Context.Add(s.messages[0])
		s.Context.AddTools(r.Tools)
	case historyRecord:
		s.foldHistory(r, at)
	case inputRecord:
		s.foldInput(r, at)
	case queuedRecord:
		s.queue(Queued{Lane: r.Lane, Text: r.Text, More: r.More, Source: r.Source, Context: r.Context})
		s.addKey(r.Key)
	case turnRecord:
		s.foldTurn(r, at)
	case answerRecord:
		s.foldAnswer(r, at)
	case intentRecord:
		for _, call := range r.Calls {
			if open := s.open(call.ID); open != nil {
				open.Intended, open.elsewhere = true, false // it began in this session
			}
		}
	case resultRecord:
		s.foldResult(r, at)
	case faultRecord:
		s.foldFault(r, at)
	case modelRecord:
		s.foldModel(r)
	case mendRecord:
		s.foldMend(r)
	case spentRecord:
		s.spend(r.Usage, r.Cost)
	case renewalRecord:
		s.foldRenewal(r, at)
	case settingRecord:
		s.foldSettings(r)
	case stopRecord:
		s.Input.Ending, s.Input.Value = r.Reason, r.Value
	case awaitRecord:
		s.open(r.CallID).awaits = &r
	case compactRecord:
		s.foldCompaction(r, at)
	case childRecord:
		s.foldChild(r)
	case noteRecord:
		s.foldNote(r)
	case endRecord:
		s.foldEnd(r, at)
	}
	switch rec.(type) {
	case queuedRecord, settingRecord, childRecord, noteRecord, renewalRecord: // may come while no input runs
	default:
		s.at = at
	}
	if s.Records == s.Header.ForkedAt {
		for i := range s.Calls {
			s.Calls[i].elsewhere = true
		}
	}
	s.settle(rec)
	s.warnWindow = !s.partial && s.Context.fill(s.Policy.Window)
}

// foldInput begins an input. If the last one goes on, the effort that waits stays, since the
// provider's round is not over, and so do the calls that may be a loop.
func (s *State) foldInput(r inputRecord, at time.Time) {
	if r.Continue && s.Input != nil { // the session was killed: the time until now does not count
		s.Worked, s.Input.Began = s.worked(), at
		return
	}
	s.inputs++
	s.compactionFailedAt = 0 // without a compaction, a history that is too long has no answer any more
	if r.Continue {
		last := cmp.Or(s.Last, &Input{}) // there is one unless records are missing
		s.Input = &Input{Text: last.Text, Key: last.Key, Final: last.Final, Finish: last.Finish, Done: last.Done &&
			last.Reason != ReasonDone, Began: at}
		return
	}
	s.addKey(r.Key)
	s.Input = &Input{Text: r.Text, Key: r.Key, Began: at}
	if r.Queued != 0 && s.Last != nil {
		s.Input.Key = s.Last.Key
	}
	s.addContext(r.Context, "")
	if r.Answers != "" {
		return
	}
	s.dequeue(r.Queued)
	if s.pending != nil {
		s.Effort, s.pending = *s.pending, nil
	}
	s.recent, s.loopWarned = nil, nil
	task := llm.User(r.Text, r.More...)
	s.addMessage(conversation.Task, "", task.Parts)
	s.addTurn(Turn{Kind: TurnUser, Origin: OriginUser, Time: at, Message: task})
}

// worked returns the time that all inputs took, the open one up to the last record.
func (s *State) worked() time.Duration {
	if s.Input == nil {
		return s.Worked
	}
	return s.Worked + max(s.at.Sub(s.Input.Began), 0)
}

// foldTurn adds a turn of the session's and counts its origin. A tool that was Done does not count
// once something sends the agent on.
func (s *State) foldTurn(r turnRecord, at time.Time) {
	note := s.dequeue(r.Queued)
	s.Input.Done = false
	switch r.Origin {
	case OriginLoop:
		s.loopWarned = r.Loop
	case OriginNudge:
		s.Input.Nudges++
		s.Input.Corrections++
	case OriginStop:
		s.Input.Confirms++
	case OriginContinue:
		s.Input.Continues++
	case OriginEmpty:
		s.Input.Empties++
	}
	text := llm.User(r.Text, r.More...)
	if r.Origin == OriginSteer {
		s.addMessage(conversation.Steering, "", text.Parts)
	}
	s.addTurn(Turn{Kind: TurnSteering, Origin: r.Origin, Time: at, Message: text, Note: note})
	if note != "" {
		s.setNoteTurn(note, s.turnCount)
	}
}

func (s *State) foldAnswer(r answerRecord, at time.Time) {
	answer := Turn{Kind: TurnAssistant, Origin: OriginModel, Time: at, Message: r.Message, Usage: r.Usage,
		Finish: r.Finish, ResponseID: r.ResponseID}
	text := r.Message.Parts.Text()
	if s.continues() {
		text = s.Input.Final + text
	}
	s.Input.Final, s.Input.Finish = text, r.Finish
	s.openAll(answer.openCalls())
	s.accept(accepted{s.askedModel(), s.turnCount, s.tools})
	s.noteAnswer(r, at)
	s.addTurn(answer)
	s.Steps++
	s.Faults, s.Failed = nil, nil
	if s.Context.measure(r.Usage) && s.uncounted {
		s.compactedAt, s.uncounted = max(s.compactedAt, s.Context.Tokens()), false
	}
	s.spend(r.Usage, r.Cost)
	s.Input.Turns++
	s.Input.Rescued = false
	if s.Input.Pauses++; r.Finish.Reason != llm.FinishPause {
		s.Input.Pauses = 0
	}
}

// foldResult fills a call. With the last result it adds the turn of results, which therefore stands
// right after the calls and in their order.
func (s *State) foldResult(r resultRecord, at time.Time) {
	call := s.open(r.CallID)
	call.Result = &llm.ToolResult{CallID: r.CallID, Name: r.Name, Content: r.Content, IsError: r.IsError,
		Free: call.Free}
	if r.Done {
		s.Input.Done, s.Input.Final = true, r.Final
	}
	if r.IsError && r.Name != "" && r.Name == s.Policy.resultTool() {
		s.Input.Corrections++
	}
	if call.awaits != nil && !r.IsError {
		s.addMessage(conversation.Answer, call.awaits.Question, r.Content)
	} else if r.Asked != "" {
		s.addMessage(conversation.Answer, r.Asked, r.Content)
	}
	for _, a := range r.Answers {
		s.addMessage(conversation.Answer, a.Question, llm.TextParts(a.String()))
	}
	if r.OutputRef != "" {
		s.outputs = append(s.outputs, outputMark{id: r.OutputRef, tool: r.Name})
	}
	if r.Kept != nil {
		if s.kept == nil {
			s.kept = map[string]keptOutput{}
		}
		s.kept[r.OutputRef] = *r.Kept
	}
	if s.Seen == nil && len(r.Seen)+len(r.Changes) > 0 {
		s.Seen = map[string]env.Hash{}
	}
	tool.Remember(s.Seen, r.Seen, r.Changes)
	for s.closed < len(s.Calls) && s.Calls[s.closed].Result != nil {
		s.closed++
	}
	if s.closed < len(s.Calls) {
		return
	}
	results := make([]llm.ToolResult, 0, len(s.Calls))
	for _, call := range s.Calls {
		results = append(results, *call.Result)
	}
	for _, call := range s.Calls {
		if !s.partial {
			s.addMark(call)
		}
	}
	s.openAll(nil)
	s.Input.Nudges, s.Input.Continues, s.Input.Empties = 0, 0, 0
	s.Input.Rounds++
	s.Rounds++
	s.addTurn(Turn{Kind: TurnToolResults, Origin: OriginTools, Time: at, Message: llm.ToolResults(results...)})
}

// foldFault adds a failed attempt. The next one is due no later than its delay after the record, so
// that damaged times in a journal do not make a session wait for ever.
func (s *State) foldFault(r faultRecord, at time.Time) {
	if latest := at.Add(r.Delay); r.RetryAt.After(latest) {
		r.RetryAt = latest
	}
	s.Faults = append(s.Faults, r.Fault)
	s.failedIn = r.in(s)
	s.spend(r.Usage, r.Cost)
}

// foldSettings changes settings. It begins a new epoch if the next request does not extend the last
// one.
func (s *State) foldSettings(r settingRecord) {
	if r.Machine != nil {
		s.Machine = *r.Machine
	}
	before := s.Policy
	s.Policy = r.policy(before)
	window := s.Policy.Window
	s.Policy.Window = before.Window
	if s.Policy.Loops != before.Loops { // the marks are of another kind
		s.recent, s.loopWarned = nil, nil
	}
	if r.EffortNext {
		s.pending, r.Effort = r.Effort, nil
	} else if r.Effort != nil {
		s.pending = nil
	}
	s.Effort = deref(r.Effort, s.Effort)
	if r.Provider != nil || r.Model != nil { // the host's choice
		s.Fallback = nil
	}
	asked, epoch := s.askedModel(), s.Epoch
	s.setModel(ModelName{deref(r.Provider, asked.Provider), deref(r.Model, asked.Model)}, window)
	if r.Tools != nil {
		var tools Context
		tools.AddTools(s.tools)
		s.tools = r.Tools
		s.Context.Chars -= tools.Chars
		s.Context.AddTools(s.tools)
		s.Epoch = epoch + 1
	}
}

// foldCompaction replaces the turns before the first retained one by one turn. The retained turns
// stay as they were sent.
func (s *State) foldCompaction(r compactRecord, at time.Time) {
	s.Queue = slices.DeleteFunc(s.Queue, func(q Queued) bool { return q.Lane == LaneCompactions && q.ID <= r.Queued })
	s.spend(r.Usage, r.Cost)
	if r.Failed != "" {
		s.compactionFailedAt = s.Steps + 1
		s.compactedAt, s.uncounted = s.Context.Tokens(), false
		return
	}
	if len(s.Faults) > 0 {
		s.Input.Rescued, s.Faults = true, nil
	}
	var replaced, kept []Turn
	if !s.partial {
		replaced, kept = s.Turns[:r.First], s.Turns[r.First:]
	}
	first := s.turnCount + 1
	if len(kept) > 0 {
		first = kept[0].Number
	}
	s.replaceNotes(first)
	s.Context = s.head()
	s.Turns, s.messages = nil, []llm.Message{llm.System(s.Header.System)}
	s.addTurn(Turn{Kind: TurnCompaction, Origin: OriginShort, Time: at, Message: llm.User(r.Text, r.More...)})
	s.moveMended(replaced, s.Turns[0])
	s.gatherAnew()
	for _, t := range kept {
		s.addTurn(t)
	}
	s.summary = r.Summary
	s.shortenMessages()
	s.Epoch++
	s.compacted++
	s.compactedAt, s.uncounted = s.Context.Tokens(), true
}

func (s *State) foldEnd(r endRecord, at time.Time) {
	f := r.Fault
	if f == nil {
		f = s.fault()
	}
	if r.Reason == ReasonAborted || r.Reason == ReasonFailed && (r.Session || s.Policy.closes(f)) {
		s.Queue = slices.DeleteFunc(s.Queue, func(q Queued) bool { return q.Lane == LaneFollowUps })
	}
	if r.Session {
		return
	}
	if s.Input.Began.Before(at) {
		s.Worked += at.Sub(s.Input.Began)
	}
	s.spend(r.Usage, r.Cost)
	if r.Summary != "" {
		s.Input.Final = r.Summary
	}
	s.Input.Unconfirmed = s.unconfirmed(r.Reason)
	s.Input.Reason = r.Reason
	if r.Reason == ReasonFailed || r.Reason == ReasonRefused {
		s.Input.Fault = f
	}
	if r.Reason == ReasonFailed && r.Fault == nil {
		s.Input.Failed = s.failures()
	}
	s.Input.Finish = r.finish(s)
	if s.Input.Key != "" {
		s.keys[s.Input.Key] = s.Input.result()
	}
	s.Last, s.Input = s.Input, nil
	s.Faults, s.Failed = nil, nil
	if r.Reason == ReasonLoop { // otherwise going on would end at once
		s.recent, s.loopWarned = nil, nil
	}
}

// addTurn adds a turn to the history. A turn that only moves behind a compaction keeps its number.
func (s *State) addTurn(t Turn) {
	if t.Number == 0 {
		s.turnCount++
		t.Number = s.turnCount
	}
	s.Turns = append(s.Turns, t)
	sent := s.sent(len(s.Turns) - 1)
	s.messages = append(s.messages, sent)
	s.Context.Add(sent)
}

func (s *State) spend(u llm.Usage, cost float64) {
	s.Usage = s.Usage.Add(u)
	s.Cost += cost
	if s.Input != nil {
		s.Input.Usage = s.Input.Usage.Add(u)
		s.Input.Cost += cost
	}
}

// openAll replaces the calls of the last answer.
func (s *State) openAll(calls []OpenCall) {
	s.Calls, s.places, s.closed = calls, make(map[string]int, len(calls)), 0
	for i := len(calls) - 1; i >= 0; i-- { // of several with one id, the first
		s.places[calls[i].ID] = i
	}
}

// open returns the open call with an id, nil if there is none.
func (s *State) open(id string) *OpenCall {
	if i, ok := s.places[id]; ok && s.Calls[i].Result == nil {
		return &s.Calls[i]
	}
	for i := s.closed; i < len(s.Calls); i++ { // of several calls with one id
		if s.Calls[i].ID == id && s.Calls[i].Result == nil {
			return &s.Calls[i]
		}
	}
	return nil
}

// indexOf returns the index of a call in the last answer, -1 if it is not in it.
func (s *State) indexOf(id string) int {
	if i, ok := s.places[id]; ok {
		return i
	}
	return slices.IndexFunc(s.Calls, func(c OpenCall) bool { return c.ID == id })
}

func (s *State) queue(q Queued) {
	s.queued++
	if q.ID = s.queued; q.Lane != "" { // it waited in the session from which this one was forked
		s.Queue = append(s.Queue, q)
	}
}

// dequeue removes an entry from the queue. It returns the kind of the note whose text it was.
func (s *State) dequeue(id int) (note string) {
	context := ""
	s.Queue = slices.DeleteFunc(s.Queue, func(q Queued) bool {
		if q.ID == id {
			context, note = q.Context, q.Note
		}
		return q.ID == id
	})
	s.addContext(context, "")
	return note
}

// addContext queues a text of a hook, or of a note with its kind, for the model.
func (s *State) addContext(text, note string) {
	if strings.TrimSpace(text) != "" {
		s.queue(Queued{Lane: LaneNotes, Text: text, Source: sourceHook, Note: note})
	}
}
