package env_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/search"
)

// logged is a log that a test can read.
type logged struct{ bytes.Buffer }

func (l *logged) logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(&l.Buffer, &slog.HandlerOptions{Level: level}))
}

// lines returns the records without time and duration, which each must have.
func (l *logged) lines(t *testing.T) []string {
	t.Helper()
	var lines []string
	for dec := json.NewDecoder(&l.Buffer); ; {
		var record map[string]any
		if err := dec.Decode(&record); errors.Is(err, io.EOF) {
			return lines
		} else if err != nil {
			t.Fatal(err)
		}
		if took, ok := record["duration"].(float64); !ok || took <= 0 {
			t.Errorf("a record without duration: %v", record)
		}
		line := record["level"].(string) + " " + record["msg"].(string)
		for _, key := range slices.Sorted(maps.Keys(record)) {
			if !slices.Contains([]string{"time", "duration", "level", "msg"}, key) {
				value, err := json.Marshal(record[key])
				if err != nil {
					t.Fatal(err)
				}
				line += " " + key + "=" + string(value)
			}
		}
		lines = append(lines, line)
	}
}

func (l *logged) want(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, l.lines(t)); diff != "" {
		t.Error(diff)
	}
}

func TestD7_LoggingLogs(t *testing.T) {
	var log logged
	local := newLocal(t, t.TempDir(), env.LocalOptions{})
	e := env.Logging(local, log.logger(slog.LevelDebug))
	ctx := t.Context()

	if err := e.WriteFile(ctx, "dir/f", []byte("s3cr3t"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := e.Open(ctx, "dir/f")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.(io.ReaderAt).ReadAt(make([]byte, 3), 1); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := e.Stat(ctx, "dir/f"); err != nil {
		t.Error(err)
	}
	if _, err := e.ReadDir(ctx, "dir"); err != nil {
		t.Error(err)
	}
	if err := e.Remove(ctx, "dir/f"); err != nil {
		t.Error(err)
	}
	log.want(t,
		`INFO write bytes=6 name="dir/f"`,
		`DEBUG open name="dir/f"`,
		`DEBUG stat name="dir/f"`,
		`DEBUG readdir entries=1 name="dir"`,
		`INFO remove name="dir/f"`,
	)
}

func TestD7_LoggingLogsErrors(t *testing.T) {
	var log logged
	e := env.Logging(newLocal(t, t.TempDir(), env.LocalOptions{}), log.logger(slog.LevelDebug))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, ctx := range []context.Context{t.Context(), gone} {
		_, statErr := e.Stat(ctx, "no")
		_, openErr := e.Open(ctx, "../no")
		_, startErr := e.Start(ctx, env.Command{Script: "true", Dir: "no"})
		for op, err := range map[string]error{"stat": statErr, "open": openErr, "remove": e.Remove(ctx, "no"),
			"start": startErr} {
			if err == nil {
				t.Errorf("%s worked", op)
			}
		}
	}
	lines := log.lines(t)
	for i, want := range []string{"DEBUG stat ", "WARN open ", "WARN start ", "WARN remove ", "DEBUG stat ",
		"DEBUG open ", "INFO start ", "INFO remove "} {
		if line := lines[i]; !strings.HasPrefix(line, want) || !strings.Contains(line, "error=") {
			t.Errorf("%s\nwant %s... error=...", line, want)
		}
	}
}

// A look above the allowed directories, as searches for a repository take, is no failure.
func TestN7_LookingAboveIsNoFailure(t *testing.T) {
	var log logged
	e := env.Logging(newLocal(t, t.TempDir(), env.LocalOptions{}), log.logger(slog.LevelDebug))
	if _, err := e.Stat(t.Context(), "../.git"); err == nil {
		t.Error("it worked")
	}
	if lines := log.lines(t); len(lines) != 1 || !strings.HasPrefix(lines[0], "DEBUG stat ") ||
		!strings.Contains(lines[0], "outside of the allowed") {
		t.Errorf("the log has %q", lines)
	}
}

func TestD7_LoggingPassesTheSuite(t *testing.T) {
	t.Parallel()
	envtest.Suite(t, func(t *testing.T) env.Environment {
		return env.Logging(newLocal(t, t.TempDir(), env.LocalOptions{}), slog.New(slog.DiscardHandler))
	})
}

func TestD7_LoggingWithoutLog(t *testing.T) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{})
	if e := env.Logging(l, nil); e != env.Environment(l) {
		t.Errorf("Logging returned a %T", e)
	}
}

// searches is an environment that searches by itself.
type searches struct{ env.Environment }

func (searches) Grep(context.Context, search.Query) (search.Result, error) {
	return search.Result{Searched: 42}, nil
}
func (searches) Glob(context.Context, string, string) (search.Listing, error) {
	return search.Listing{}, errors.New("no index")
}

// Views use the environment's own search, and each of them logs it.
func TestD7_ViewsKeepTheSearch(t *testing.T) {
	local := newLocal(t, t.TempDir(), env.LocalOptions{})
	var inner, outer logged
	e := env.Logging(env.ReadOnly(env.Logging(searches{local}, inner.logger(slog.LevelDebug))),
		outer.logger(slog.LevelDebug))
	if r, err := search.Grep(t.Context(), e, search.Query{Pattern: "x", Path: "dir"}); err != nil || r.Searched != 42 {
		t.Errorf("Grep: %+v, %v", r, err)
	}
	if _, err := search.Glob(t.Context(), e, "*", ""); err == nil {
		t.Error("Glob: the environment's own error was not returned")
	}
	for _, log := range []*logged{&inner, &outer} {
		log.want(t, `DEBUG grep name="dir"`, `WARN glob error="no index" name=""`)
	}
	// A Sub has another working directory, so the search engine searches its files itself.
	if r, err := search.Grep(t.Context(), env.Sub(searches{local}, "."), search.Query{Pattern: "x"}); err != nil ||
		r.Searched != 0 {
		t.Errorf("Grep in Sub: %+v, %v", r, err)
	}
}
