package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
)

const (
	askPrefix    = "ask."
	answerPrefix = "answer."
)

// asks implements [fleet.Asks]. An ask and its answer are two records, so that workers write one
// and clients the other, and each is written once.
type asks struct{ records table }

// NewAsks returns asks. Their keys are ask.TASK.ASK and answer.TASK.ASK.
func NewAsks(t Table) fleet.Asks { return &asks{table{t}} }

// keyOf names an ask within a prefix. The id is a model's, so it may be anything.
func (asks) keyOf(prefix, task, id string) string {
	return prefix + Token(task) + "." + digest(id)
}

// Put implements [fleet.Asks].
func (s *asks) Put(ctx context.Context, a fleet.Ask) error {
	if err := journal.CheckID(a.Task); err != nil {
		return err
	}
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if _, err = s.records.put(ctx, s.keyOf(askPrefix, a.Task, a.ID), data, 0, 0); errors.Is(err, ErrChanged) {
		return nil
	}
	return err
}

// find returns nil if an ask exists, and an error that wraps fs.ErrNotExist if it does not.
func (s *asks) find(ctx context.Context, task, id string) error {
	if journal.CheckID(task) == nil {
		r, err := s.records.Get(ctx, s.keyOf(askPrefix, task, id))
		if err != nil || r.Seq > 0 {
			return err
		}
	}
	return fmt.Errorf("fleet: task %.200q asks nothing by the id %.200q: %w", task, id, fs.ErrNotExist)
}

// Wait implements [fleet.Asks].
func (s *asks) Wait(ctx context.Context, task, id string) (a fleet.Answer, err error) {
	if err := s.find(ctx, task, id); err != nil {
		return a, err
	}
	key := s.keyOf(answerPrefix, task, id)
	for err := range s.records.Changes(ctx, key) {
		if err != nil {
			return a, err
		}
		r, err := s.records.Get(ctx, key)
		if err == nil && r.Seq > 0 {
			return a, json.Unmarshal(r.Data, &a)
		}
		if err == nil {
			err = s.find(ctx, task, id)
		}
		if err != nil {
			return a, err
		}
	}
	return a, ctx.Err()
}

// Answer implements [fleet.Asks].
func (s *asks) Answer(ctx context.Context, task, id string, answer fleet.Answer) error {
	if err := s.find(ctx, task, id); err != nil {
		return err
	}
	data, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	key := s.keyOf(answerPrefix, task, id)
	if _, err = s.records.put(ctx, key, data, 0, 0); !errors.Is(err, ErrChanged) {
		return err
	}
	first, err := s.records.Get(ctx, key)
	if err != nil {
		return err
	}
	var before fleet.Answer
	if err := json.Unmarshal(first.Data, &before); err != nil || !before.Same(answer) {
		return fmt.Errorf("ask %.200q of task %.200q: %w", id, task, fleet.ErrAnswered)
	}
	return nil
}

// Open implements [fleet.Asks].
func (s *asks) Open(ctx context.Context, task string) iter.Seq2[fleet.Ask, error] {
	return func(yield func(fleet.Ask, error) bool) {
		list, err := s.open(ctx, task)
		if err != nil {
			yield(fleet.Ask{}, err)
			return
		}
		for _, a := range list {
			if !yield(a, nil) {
				return
			}
		}
	}
}

func (s *asks) open(ctx context.Context, task string) ([]fleet.Ask, error) {
	of := "*"
	if task != "" {
		if of = Token(task); journal.CheckID(task) != nil {
			return nil, nil
		}
	}
	open, answered := map[string]fleet.Ask{}, map[string]bool{}
	for r, err := range s.records.List(ctx, askPrefix+of+".*", answerPrefix+of+".*") {
		if err != nil {
			return nil, err
		}
		if name, ok := bytes.CutPrefix([]byte(r.Key), []byte(answerPrefix)); ok {
			answered[string(name)] = true
			continue
		}
		var a fleet.Ask
		if err := json.Unmarshal(r.Data, &a); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Key, err)
		}
		open[r.Key[len(askPrefix):]] = a
	}
	var list []fleet.Ask
	for name, a := range open {
		if !answered[name] {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(a, b fleet.Ask) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Task, b.Task), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

// Remove implements [fleet.Asks].
func (s *asks) Remove(ctx context.Context, task string) error {
	if journal.CheckID(task) != nil {
		return nil
	}
	if err := s.records.Remove(ctx, askPrefix+Token(task)+".*"); err != nil {
		return err
	}
	return s.records.Remove(ctx, answerPrefix+Token(task)+".*")
}
