package journal

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"
)

// follow starts to follow the journal s, and returns a function that returns the next pair.
func follow(t *testing.T, dir *Dir) (next func() (Record, error)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	type pair struct {
		record Record
		err    error
	}
	all := make(chan pair)
	go func() {
		defer close(all)
		for r, err := range dir.Follow(ctx, "s", 1) {
			all <- pair{r, err}
		}
	}()
	t.Cleanup(func() {
		cancel()
		for range all {
		}
	})
	return func() (Record, error) { p := <-all; return p.record, p.err }
}

// A follower gets the records of another process while that runs and, after it was killed, the
// records of the next writer.
func TestJ8_FollowsOtherProcesses(t *testing.T) {
	dir := NewDir(t.TempDir())
	closed(t, created(t, dir, "s"))
	next := follow(t, dir)
	n := int64(0)
	until := func(last int64) {
		t.Helper()
		for n < last {
			r, err := next()
			if n++; err != nil || r.N != n {
				t.Fatalf("Follow yields record %d, %v, want %d", r.N, err, n)
			}
		}
	}
	for round := range uint64(3) {
		p := play(t, "append", dir, round)
		for range 5 {
			safe, err := strconv.ParseInt(p.line(t), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			until(safe)
		}
		p.kill(t)
	}
}

// An incomplete end, which is being written or which the next writer cuts off, is not yielded.
func TestJ8_FollowsOverTornEnds(t *testing.T) {
	for name, torn := range map[string]string{"half a line": two[:20], "a broken line": two[:20] + "\n",
		"half an append": lineOf(2, true), "NUL bytes": "\x00\x00\x00"} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			dir := journalOf(t, one+torn)
			next := follow(t, dir)
			if r, err := next(); err != nil || r.Kind != "k1" {
				t.Fatalf("Follow yields %+v, %v", r, err)
			}
			f, err := dir.Open(ctx, "s")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := f.Append(ctx, 2, Record{Kind: "new"}); err != nil {
				t.Fatal(err)
			}
			if r, err := next(); err != nil || r.Kind != "new" || r.N != 2 {
				t.Errorf("Follow yields %+v, %v, want the new record 2", r, err)
			}
		})
	}
}

// appendTo adds a text to a file in one write, so that nobody sees the file without what it had.
func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// Following ends with an error if the journal is damaged, truncated or removed.
func TestJ8_FollowTellsOfDamage(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(path string) error
		want error
		text string
	}{
		"cut": {func(path string) error { return os.Truncate(path, 10) }, ErrCorrupt,
			"the file was cut to 10 bytes"},
		"removed": {os.Remove, fs.ErrNotExist, "its file was removed while it was followed"},
		"damaged": {func(path string) error { return appendTo(path, "{\n"+lineOf(4, false)) }, ErrCorrupt,
			"line 3, at byte"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "removed" && !unlinkLocked {
				t.Skip("the system does not remove files that are open")
			}
			dir := journalOf(t, one+two)
			next := follow(t, dir)
			for range 2 {
				if _, err := next(); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.do(dir.file("s", linesExt)); err != nil {
				t.Fatal(err)
			}
			if r, err := next(); !errors.Is(err, c.want) || !strings.Contains(err.Error(), "session s: ") ||
				!strings.Contains(err.Error(), c.text) {
				t.Errorf("Follow yields %+v, %v, want %v: %s", r, err, c.want, c.text)
			}
		})
	}
}
