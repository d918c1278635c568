package web_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/longsession"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/web"
)

// BenchmarkN5_Watch measures how soon the page has all of a journal of 50 MB to show over HTTP. The
// ratio is to one pass of encoding/json over the lines of the file.
func BenchmarkN5_Watch(b *testing.B) {
	dir := b.TempDir()
	store := journal.NewDir(dir)
	const rounds = 27_000
	if err := longsession.Write(b.Context(), store, "long", rounds); err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(dir, "long.jsonl")
	info, err := os.Stat(file)
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d rounds, %.1f MB", rounds, float64(info.Size())/1e6)
	var whole, yardstick time.Duration
	for b.Loop() {
		whole += untilOverview(b, store)
		yardstick += decodeAll(b, file)
	}
	n := float64(b.N)
	b.ReportMetric(whole.Seconds()*1e3/n, "ms-to-whole")
	b.ReportMetric(whole.Seconds()/yardstick.Seconds(), "whole/json")
}

// untilOverview watches a session of a new server, and returns the time until the overview.
func untilOverview(b *testing.B, store journal.Store) time.Duration {
	v := view(b, web.Options{Store: store})
	defer v.stop()
	began := time.Now()
	w := v.watch("long")
	defer w.close()
	w.until(func(m message) bool { return m.Type == "overview" })
	return time.Since(began)
}

// decodeAll returns the time that encoding/json takes for the lines of a file.
func decodeAll(b *testing.B, file string) time.Duration {
	f, err := os.Open(file)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	began := time.Now()
	for dec := json.NewDecoder(f); ; {
		var line any
		if err := dec.Decode(&line); err == io.EOF {
			return time.Since(began)
		} else if err != nil {
			b.Fatal(err)
		}
	}
}
