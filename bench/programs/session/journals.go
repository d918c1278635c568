package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	claude "github.com/attractor-go/attractor/profile/anthropic"
	"github.com/attractor-go/attractor/tool"
)

// write runs one session of so many rounds, and writes its journal into dir again and again, under
// other ids.
func write(ctx context.Context, dir string, rounds, journals int) error {
	if err := play(ctx, scripted(rounds), dir, id(0)); err != nil {
		return err
	}
	store := journal.NewDir(dir)
	reader, err := store.Read(ctx, id(0))
	if err != nil {
		return err
	}
	var records []journal.Record
	for r, err := range reader.Records(ctx, 1) {
		if err != nil {
			return err
		}
		records = append(records, r)
	}
	for i := 1; i < journals; i++ {
		if err := copyTo(ctx, store, records, id(i)); err != nil {
			return err
		}
	}
	return nil
}

// id returns the id of a session; all have one length.
func id(n int) string { return fmt.Sprintf("session-%06d", n) }

// copyTo writes the records of the first session as those of another one.
func copyTo(ctx context.Context, store journal.Store, records []journal.Record, to string) error {
	log, err := store.Create(ctx, to)
	if err != nil {
		return err
	}
	for i, r := range records {
		r.Data = bytes.ReplaceAll(r.Data, []byte(id(0)), []byte(to))
		if err := log.Append(ctx, int64(i+1), r); err != nil {
			return errors.Join(err, log.Close())
		}
	}
	return log.Close()
}

// scripted returns the options of a session whose model is in this process and calls the tool noop,
// rounds times.
func scripted(rounds int) agent.Options {
	return agent.Options{Client: &llm.Client{Providers: []llm.Provider{&model{rounds: rounds}}},
		Profile: claude.Profile(),
		Tools:   []tool.Tool{nothing(func() {})}}
}

// model calls the tool noop so many times. Unlike llmtest.Provider it keeps no requests.
type model struct{ asked, rounds int }

// Name implements llm.Provider.
func (m *model) Name() string { return "anthropic" }

// Stream implements llm.Provider.
func (m *model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	if m.asked++; m.asked > m.rounds {
		return llmtest.Text("Done.")(ctx, req)
	}
	return llmtest.Answer(llm.Text{Text: "I look at the next one."},
		llm.ToolCall{ID: fmt.Sprintf("call_%d", m.asked), Name: "noop", Args: fmt.Sprintf(`{"n":%d}`, m.asked)})(ctx,
		req)
}

// read measures one way to read the journal of the first session.
func read(ctx context.Context, how, dir string) (figures, error) {
	read, known := readers[how]
	if !known {
		return figures{}, fmt.Errorf("there is no measurement %q", how)
	}
	before := cpu()
	err := read(ctx, dir)
	return figures{CPU: micros(cpu() - before)}, err
}

var readers = map[string]func(ctx context.Context, dir string) error{
	"json": decodeLines, "resume": resume, "replay": replay, "project": project, "fork": fork,
}

// decodeLines is the yardstick: it decodes each line of the journal with encoding/json.
func decodeLines(_ context.Context, dir string) error {
	file, err := os.Open(filepath.Join(dir, id(0)+".jsonl"))
	if err != nil {
		return err
	}
	defer file.Close()
	for dec := json.NewDecoder(file); ; {
		var line struct {
			C, T, K string
			N       int64
			More    bool
			D       any
		}
		if err := dec.Decode(&line); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func resume(ctx context.Context, dir string) error {
	log, err := journal.NewDir(dir).Open(ctx, id(0))
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "session-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	local, err := env.NewLocal(temp, env.LocalOptions{})
	if err != nil {
		return err
	}
	defer local.Close()
	o := scripted(0)
	o.Env, o.Dir, o.Journal = local, temp, log
	s, err := agent.Resume(ctx, o)
	if err != nil {
		return err
	}
	return s.Release(ctx)
}

func replay(ctx context.Context, dir string) error {
	reader, err := journal.NewDir(dir).Read(ctx, id(0))
	if err != nil {
		return err
	}
	return agent.Replay(ctx, reader, agent.ReplayOptions{})
}

func project(ctx context.Context, dir string) error {
	reader, err := journal.NewDir(dir).Read(ctx, id(0))
	if err != nil {
		return err
	}
	return agent.Project(ctx, reader, func(agent.Event) {})
}

func fork(ctx context.Context, dir string) error {
	store := journal.NewDir(dir)
	log, err := agent.Fork(ctx, store, id(0), 0, "fork")
	if err != nil {
		return err
	}
	return errors.Join(log.Close(), store.Remove(ctx, "fork"))
}
