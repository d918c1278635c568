package search

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/attractor-go/attractor/env"
)

// stuck is an environment in which opening a file, or describing a link, takes forever.
type stuck struct {
	env.Environment
	name string
}

func (s *stuck) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if strings.HasSuffix(name, "/"+s.name) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Environment.Open(ctx, name)
}

func (s *stuck) Stat(ctx context.Context, name string) (env.Info, error) {
	if strings.HasSuffix(name, "/"+s.name) {
		<-ctx.Done()
		return env.Info{}, ctx.Err()
	}
	return s.Environment.Stat(ctx, name)
}

// TestK13_SearchTime has searches that find no end return after their time what they have found,
// also behind the file that takes so long. One that is interrupted is an error.
func TestK13_SearchTime(t *testing.T) {
	files := map[string]string{"a/1": "needle\n", "b/2": "needle\n", "c/3": "needle\n", "d/4": "needle\n"}
	e := &stuck{Environment: plant(t, files), name: "b/2"}
	synctest.Test(t, func(t *testing.T) {
		found, err := Grep(t.Context(), e, Query{Pattern: "needle"})
		var names []string
		for _, f := range found.Files {
			names = append(names, f.Path)
		}
		if err != nil || !found.Stopped || !slices.Equal(names, []string{"a/1", "c/3", "d/4"}) {
			t.Errorf("%v %+v", err, found)
		}
		listing, err := Glob(t.Context(), e, "**", "")
		if err != nil || len(listing.Files) != len(files) && !listing.Stopped {
			t.Errorf("%v %+v", err, listing)
		}
		if found, err = Grep(t.Context(), e, Query{Pattern: "needle", Path: "b/2"}); err != nil || !found.Stopped {
			t.Errorf("%v %+v", err, found)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		interrupted := errors.New("interrupted")
		go func() {
			synctest.Wait()
			cancel(interrupted)
		}()
		if found, err = Grep(ctx, e, Query{Pattern: "needle"}); !errors.Is(err, interrupted) || found.Stopped {
			t.Errorf("%v %+v", err, found)
		}
	})
}

// ending is a context that ends after a number of looks at it.
type ending struct {
	context.Context
	left atomic.Int64
}

func (e *ending) Err() error {
	if e.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestK13_LongLine has the search of a long line for a large expression end with the context: else
// it takes minutes.
func TestK13_LongLine(t *testing.T) {
	m, err := compile(strings.Repeat("[a-q]{0,900}[^z]{0,900}c{500}z|", 5)+"needle", false)
	must(t, err)
	for _, mode := range []Mode{Lines, Files} {
		ctx := &ending{Context: t.Context()}
		ctx.left.Store(2)
		s := &scanner{matcher: m, query: &Query{Mode: mode}, limit: maxChunk}
		found, text, err := s.scan(ctx, strings.NewReader("cz"+strings.Repeat("abc", 2<<20)))
		if err != nil || !text || found.Count != 0 || ctx.left.Load() < -100 {
			t.Errorf("%v %v %+v, %d looks", err, text, found, 2-ctx.left.Load())
		}
	}
}

// TestK13_SamePieces compares what is found in long lines with and without looks at the context.
func TestK13_SamePieces(t *testing.T) {
	for _, pattern := range []string{`x{300}y$`, `^\w{0,400}\bz`, "\ufffd.{500}é"} {
		m, err := compile(pattern, false)
		must(t, err)
		s := &scanner{matcher: m, ctx: t.Context()}
		for _, line := range []string{strings.Repeat("x", 400) + "y", "abc z", "\xff" + strings.Repeat("a", 500) + "é",
			"none"} {
			if got, want := s.re.MatchReader(s.reader([]byte(line))), s.re.MatchString(line); got != want {
				t.Errorf("%q in %.10q: %v", pattern, line, got)
			}
		}
	}
}
