package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/longsession"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/web"
)

// outputs writes a session whose calls have outputs of 100 kB.
func outputs(ctx context.Context, store journal.Store, id string, rounds int) error {
	if err := longsession.Write(ctx, store, "short", rounds); err != nil {
		return err
	}
	from, err := store.Read(ctx, "short")
	if err != nil {
		return err
	}
	defer from.Close()
	long, err := json.Marshal(strings.Repeat("ok  \tgithub.com/attractor-go/attractor/web\t0.412s\n", 2000))
	if err != nil {
		return err
	}
	log, err := store.Fork(ctx, "short", id, from.Len(), func(r *journal.Record) error {
		if r.Kind == "result" {
			r.Data = json.RawMessage(strings.Replace(string(r.Data), `"content":[{"text":{"text":"`,
				`"content":[{"text":{"text":`+string(long)+`}},{"text":{"text":"`, 1))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return log.Close()
}

// The time until all rows are known, beside a pass of encoding/json over the same records, and what
// stays in memory.
func BenchmarkN5_Rows(b *testing.B) {
	for name, c := range map[string]struct {
		write  func(context.Context, journal.Store, string, int) error
		rounds int
	}{"calls": {longsession.Write, 27_000}, "outputs": {outputs, 500}} {
		store := journal.NewDir(b.TempDir())
		if err := c.write(b.Context(), store, "long", c.rounds); err != nil {
			b.Fatal(err)
		}
		for kind, m := range map[string]*secret.Masker{"plain": nil, "masked": masker(b)} {
			b.Run(name+"/"+kind, func(b *testing.B) { allRows(b, store, m) })
		}
	}
}

func masker(b *testing.B) *secret.Masker {
	b.Helper()
	m := secret.New()
	for i := range 5 {
		if err := m.Register(fmt.Sprint("KEY", i), fmt.Sprintf("sk-%d-aVeryLongSecretKey", i)); err != nil {
			b.Fatal(err)
		}
	}
	return m
}

func allRows(b *testing.B, store journal.Store, m *secret.Masker) {
	log, err := store.Read(b.Context(), "long")
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	var whole, item, pass time.Duration
	var trace *web.Trace
	before := heap()
	for b.Loop() {
		begun := time.Now()
		trace = web.NewTrace(m, nil)
		each(b, log, func(r journal.Record) {
			if _, _, err := trace.Add(r); err != nil {
				b.Fatal(err)
			}
		})
		whole += time.Since(begun)
		begun = time.Now()
		if _, err := trace.Item(trace.Len() / 2); err != nil {
			b.Fatal(err)
		}
		item += time.Since(begun)
		begun = time.Now()
		each(b, log, func(r journal.Record) {
			var value any
			if err := json.Unmarshal(r.Data, &value); err != nil {
				b.Fatal(err)
			}
		})
		pass += time.Since(begun)
	}
	n := float64(b.N)
	b.ReportMetric(whole.Seconds()*1e3/n, "ms-to-whole")
	b.ReportMetric(whole.Seconds()/pass.Seconds(), "whole/json")
	b.ReportMetric(item.Seconds()*1e3/n, "ms-to-item")
	b.ReportMetric((heap()-before)/1e6, "MB")
	runtime.KeepAlive(trace)
}

func each(b *testing.B, log agent.Records, do func(journal.Record)) {
	for r, err := range log.Records(b.Context(), 1) {
		if err != nil {
			b.Fatal(err)
		}
		do(r)
	}
}

// heap returns the bytes of live objects.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
