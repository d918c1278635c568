package natsfleet

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
	askStream    = "asks"
	askPrefix    = "ask."
	answerPrefix = "answer."
)

// asks implements [fleet.Asks]. An ask and its answer are two records, so that workers write one
// and clients the other, and each is written once.
type asks struct{ *records }

func newAsks(ctx context.Context, a *account) (fleet.Asks, error) {
	r, err := newRecords(ctx, a, askStream, askPrefix+"*.*", answerPrefix+"*.*")
	return &asks{r}, err
}

// subjectOf names an ask within a prefix. The id is a model's, so it may be anything.
func (asks) subjectOf(prefix, task, id string) string {
	return prefix + token(task) + "." + digest(id)
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
	if _, err = s.put(ctx, s.subjectOf(askPrefix, a.Task, a.ID), data, 0, 0); errors.Is(err, errChanged) {
		return nil
	}
	return err
}

// find returns an error that wraps fs.ErrNotExist unless there is an ask.
func (s *asks) find(ctx context.Context, task, id string) error {
	if journal.CheckID(task) == nil {
		r, err := s.get(ctx, s.subjectOf(askPrefix, task, id))
		if err != nil || r.seq > 0 {
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
	subject := s.subjectOf(answerPrefix, task, id)
	for err := range s.changes(ctx, subject) {
		if err != nil {
			return a, err
		}
		r, err := s.get(ctx, subject)
		if err != nil && (ctx.Err() != nil || !mayPass(err)) {
			return a, err
		}
		if err == nil && r.seq > 0 {
			return a, json.Unmarshal(r.data, &a)
		}
		if err := s.find(ctx, task, id); errors.Is(err, fs.ErrNotExist) {
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
	subject := s.subjectOf(answerPrefix, task, id)
	if _, err = s.put(ctx, subject, data, 0, 0); !errors.Is(err, errChanged) {
		return err
	}
	first, err := s.get(ctx, subject)
	if err != nil {
		return err
	}
	var before fleet.Answer
	if err := json.Unmarshal(first.data, &before); err != nil || !before.Same(answer) {
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
		if of = token(task); journal.CheckID(task) != nil {
			return nil, nil
		}
	}
	open, answered := map[string]fleet.Ask{}, map[string]bool{}
	for r, err := range s.list(ctx, askPrefix+of+".*", answerPrefix+of+".*") {
		if err != nil {
			return nil, err
		}
		if name, ok := bytes.CutPrefix([]byte(r.subject), []byte(answerPrefix)); ok {
			answered[string(name)] = true
			continue
		}
		var a fleet.Ask
		if err := json.Unmarshal(r.data, &a); err != nil {
			return nil, fmt.Errorf("%s: %w", r.subject, err)
		}
		open[r.subject[len(askPrefix):]] = a
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
	if err := s.remove(ctx, askPrefix+token(task)+".*"); err != nil {
		return err
	}
	return s.remove(ctx, answerPrefix+token(task)+".*")
}
