package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// journalOf returns a directory with a journal s that has the given bytes.
func journalOf(t testing.TB, content string) *Dir {
	t.Helper()
	dir := NewDir(t.TempDir())
	if err := os.WriteFile(dir.file("s", linesExt), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// lineOf returns a line as Append writes it.
func lineOf(n int64, more bool) string {
	var b bytes.Buffer
	if err := encodeLine(&b, n, Record{Kind: fmt.Sprint("k", n), Data: json.RawMessage(`{"x":"y"}`)},
		more); err != nil {
		panic(err)
	}
	return b.String()
}

var (
	one, two, three = lineOf(1, false), lineOf(2, false), lineOf(3, false)
	oneOfTwo        = lineOf(1, true)
	twoOfThree      = lineOf(2, true)

	oldOne, oldTwo = withoutSum(one), withoutSum(two)
)

// withoutSum returns a line as version 1 had it.
func withoutSum(line string) string { return "{" + line[sumLength:] }

// flip changes a bit of the first byte.
func flip(text string) string { return string(text[0]^1) + text[1:] }

// Open cuts off what a crash leaves behind, and Read ignores it.
func TestA19_TornEnds(t *testing.T) {
	nul := strings.Repeat("\x00", 100_000)
	for name, c := range map[string]struct {
		content string
		whole   string
	}{
		"empty":                           {"", ""},
		"whole":                           {one + two, one + two},
		"half a line":                     {one + two[:20], one},
		"a line without its line break":   {one + two[:len(two)-1], one},
		"half a line with a line break":   {one + two[:20] + "\n", one},
		"a blank line":                    {one + "\n", one},
		"only half a line":                {one[:9], ""},
		"a batch without its last line":   {one + twoOfThree, one},
		"a batch and half its last line":  {one + twoOfThree + three[:20], one},
		"a batch from the beginning":      {oneOfTwo, ""},
		"a whole batch":                   {oneOfTwo + two, oneOfTwo + two},
		"NUL bytes":                       {one + nul, one},
		"NUL bytes and a line break":      {one + nul + "\n", one},
		"NUL bytes and the end of a line": {one + nul + two[20:], one},
		"half a line and NUL bytes":       {one + two[:20] + nul, one},
		"a broken line and NUL bytes":     {one + two[:20] + "\n" + nul, one},
		"a batch and NUL bytes":           {one + twoOfThree + nul, one},
		"nothing but NUL bytes":           {nul, ""},
		"a bit of the last line":          {one + strings.Replace(two, "k2", "k3", 1), one},
		"the checksum of the last line":   {one + two[:9] + flip(two[9:]), one},
		"a bit in the end of a batch":     {one + twoOfThree + strings.Replace(three, "k3", "k7", 1), one},
		"a line break of another system": {oldOne[:len(oldOne)-1] + "\r\n" + two,
			oldOne[:len(oldOne)-1] + "\r\n" + two},
		"fields that nobody knows": {oldOne[:len(oldOne)-2] + `,"x":[1]}` + "\n" + two,
			oldOne[:len(oldOne)-2] + `,"x":[1]}` + "\n" + two},
		"a line that is not written in UTF8": {oldOne + `{"n":2,"k":"` + "\xff" + `"}` + "\n",
			oldOne + `{"n":2,"k":"` + "\xff" + `"}` + "\n"},
		"version 1":                   {oldOne + oldTwo + "{", oldOne + oldTwo},
		"version 1 that goes on in 2": {oldOne + two + lineOf(3, true), oldOne + two},
		"half a line of version 1":    {oldOne + oldTwo[:20] + "\n", oldOne},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			dir := journalOf(t, c.content)
			want := int64(strings.Count(c.whole, "\n"))
			r, err := dir.Read(ctx, "s")
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if got := kindsOf(t, r.Records(ctx, 1)); r.Len() != want || len(got) != int(want) {
				t.Errorf("Read has %d records, %q, want %d", r.Len(), got, want)
			}
			if now := contentOf(t, dir); now != c.content {
				t.Errorf("Read has changed the file")
			}
			f, err := dir.Open(ctx, "s")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if now := contentOf(t, dir); f.Len() != want || now != c.whole {
				t.Errorf("Open leaves %d records, %.300q, want %d, %q", f.Len(), now, want, c.whole)
			}
			for _, torn := range []*Torn{TornEnd(r), TornEnd(f)} {
				if told := torn != nil; told != (c.content != c.whole) {
					t.Errorf("it is told that %v", torn)
				} else if told && (torn.At != int64(len(c.whole)) || torn.Bytes != int64(len(c.content)-len(c.whole)) ||
					torn.Line != want+1 || torn.Problem == "") {
					t.Errorf("it is told that %v, want %d bytes behind %d", torn, len(c.content)-len(c.whole),
						len(c.whole))
				}
			}
			if err := f.Append(ctx, want+1, Record{Kind: "next"}); err != nil {
				t.Fatal(err)
			}
			if got := kindsOf(t, f.Records(ctx, want+1)); !slices.Equal(got, []string{"next"}) {
				t.Errorf("after Append: %q", got)
			}
		})
	}
}

func contentOf(t testing.TB, dir *Dir) string {
	t.Helper()
	content, err := os.ReadFile(dir.file("s", linesExt))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// Damage that no crash explains is reported with its place, and left alone.
func TestA19_CorruptIsNeverCut(t *testing.T) {
	for name, c := range map[string]struct {
		content  string
		line, at int
	}{
		"a bad line before a good one":      {one + "{]\n" + two, 2, len(one)},
		"a bad line before a good one only": {"{\n" + one, 1, 0},
		"two bad lines":                     {one + "{\n{\n", 2, len(one)},
		"a bad line before half a line":     {one + two[:20] + "\n" + three[:20], 2, len(one)},
		"a blank line":                      {one + "\n" + two, 2, len(one)},
		"NUL bytes before a line":           {one + "\x00\x00\n" + two, 2, len(one)},
		"two lines in one":                  {one + strings.TrimSuffix(two, "\n") + three + lineOf(4, false), 2, len(one)},
		"a gap":                             {one + three, 2, len(one)},
		"a line twice":                      {one + two + two, 3, len(one + two)},
		"not from 1":                        {two, 1, 0},
		"no number":                         {oldOne + "{}\n", 2, len(oldOne)},
		"a number that is none":             {oldOne + `{"n":2.5}` + "\n", 2, len(oldOne)},
		"a time that is none":               {oldOne + `{"n":2,"t":"today"}` + "\n", 2, len(oldOne)},
		"JSON of something else":            {oldOne + "17\n", 2, len(oldOne)},
		"a line without a checksum":         {one + oldTwo, 2, len(one)},
		"another name for the checksum":     {`{"C` + one[3:] + two, 1, 0},
		"a bit of a line before others":     {one + strings.Replace(two, "k2", "k3", 1) + three, 2, len(one)},
		"a bit of a line of an old file":    {oldOne + strings.Replace(two, "k2", "k3", 1) + three, 2, len(oldOne)},
		"lines in another order":            {one + three + two, 2, len(one)},
		"a gap in a batch":                  {oneOfTwo + three, 2, len(oneOfTwo)},
		"a bad line in a batch":             {one + twoOfThree + "{\n" + lineOf(4, false), 3, len(one + twoOfThree)},
	} {
		t.Run(name, func(t *testing.T) {
			dir := journalOf(t, c.content)
			for _, err := range corruption(t, dir) {
				if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(),
					fmt.Sprintf(" s: journal: corrupt: line %d, at byte %d: ", c.line, c.at)) {
					t.Errorf("%v, want ErrCorrupt of session s in line %d, at byte %d", err, c.line, c.at)
				}
			}
			if now := contentOf(t, dir); now != c.content {
				t.Errorf("the file was changed to %q", now)
			}
			if files, err := os.ReadDir(dir.path); err != nil || len(files) != 1 {
				t.Errorf("left behind: %v, %v", files, err)
			}
		})
	}
}

// corruption opens the journal s in each way, and returns the errors of using it.
func corruption(t *testing.T, dir *Dir) (errs []error) {
	t.Helper()
	ctx := context.Background()
	appending, err := dir.Open(ctx, "s")
	if err == nil {
		err = errors.Join(appending.Append(ctx, appending.Len()+1, Record{Kind: "next"}))
		closed(t, appending)
	}
	errs = append(errs, err)
	reading, err := dir.Open(ctx, "s")
	if err == nil {
		err = failureOf(reading.Records(ctx, 1))
		closed(t, reading)
	}
	errs = append(errs, err)
	reader, err := dir.Read(ctx, "s")
	if err == nil {
		_, forkErr := dir.Fork(ctx, "s", "t", reader.Len(), nil)
		errs = append(errs, forkErr)
		err = failureOf(reader.Records(ctx, 1))
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
	}
	return append(errs, err, failureOf(dir.Follow(ctx, "s", 1)))
}

// failureOf returns the error that ends a pass, or nil.
func failureOf(records func(func(Record, error) bool)) (failure error) {
	for _, err := range records {
		failure = err
	}
	return failure
}

// Damage to an open file is reported when it is read.
func TestA19_DamagedWhileOpen(t *testing.T) {
	for _, damaged := range []string{one + "{" + two[1:], one, one + three + two, one + strings.Replace(two, `"y"`,
		`"z"`, 1)} {
		dir := journalOf(t, one+two)
		f, err := dir.Open(context.Background(), "s")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := os.WriteFile(dir.file("s", linesExt), []byte(strings.Replace(damaged, `"k2"`, `k2`, 1)),
			0o600); err != nil {
			t.Fatal(err)
		}
		var failure error
		for _, err := range f.Records(context.Background(), 1) {
			failure = err
		}
		if !errors.Is(failure, ErrCorrupt) || !strings.Contains(failure.Error(),
			fmt.Sprintf("session s: journal: corrupt: line 2, at byte %d", len(one))) {
			t.Errorf("Records = %v, want ErrCorrupt in line 2", failure)
		}
	}
}

// A reader that opens the journal while a writer cuts off a torn end must not take the mixture for
// damage.
func TestA19_ReadLooksTwice(t *testing.T) {
	dir := journalOf(t, one+two)
	left := 2 // the last line, and all of it
	dir.sys = &mixture{dir.sys, &left, []byte(one + two[:10] + "\n" + two[10:])}
	r, err := dir.Read(context.Background(), "s")
	if err != nil || left > 0 {
		t.Fatalf("Read = %v", err)
	}
	defer r.Close()
	if r.Len() != 2 {
		t.Errorf("Len = %d, want 2", r.Len())
	}
}

// mixture is a system that returns other bytes to the first reads.
type mixture struct {
	system
	left  *int
	bytes []byte
}

func (m *mixture) open(path string, flag int) (handle, error) {
	h, err := m.system.open(path, flag)
	return &mixed{h, m}, err
}

type mixed struct {
	handle
	m *mixture
}

func (m *mixed) ReadAt(p []byte, at int64) (int, error) {
	if *m.m.left > 0 {
		*m.m.left--
		return copy(p, m.m.bytes), nil
	}
	return m.handle.ReadAt(p, at)
}

// If a failed write cannot be undone, or a sync fails, the log refuses every call. After reopening
// it has the earlier records.
func TestA19_OutOfUse(t *testing.T) {
	for name, fail := range map[string]func(call) verdict{
		"write and truncate": func(c call) verdict {
			if strings.HasSuffix(c.path, linesExt) && (c.op == "truncate" || c.op == "write" && c.size > 200) {
				return verdict{err: syscall.EIO, short: c.size - 1}
			}
			return verdict{}
		},
		"sync": func(c call) verdict {
			if c.op == "sync" && strings.HasSuffix(c.path, linesExt) {
				return verdict{err: syscall.EIO}
			}
			return verdict{}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			s := newScenario(t, keptOpen, fail)
			f, err := s.dir.Create(ctx, "s")
			if err != nil {
				t.Fatal(err)
			}
			s.append(f, "a", "b")
			if name == "sync" {
				err = f.Sync(ctx)
			} else {
				s.append(f, "c", "d", "e", "f", "g", "h")
				err = s.errs[0]
			}
			if !errors.Is(err, syscall.EIO) {
				t.Fatalf("%v, want EIO", err)
			}
			before := len(s.sys.calls)
			_, putErr := f.PutBlob(ctx, strings.NewReader(""))
			_, blobErr := f.Blob(ctx, hashOf(nil))
			var readErr error
			for _, err := range f.Records(ctx, 1) {
				readErr = err
			}
			for i, err := range []error{f.Append(ctx, 3, Record{Kind: "x"}), f.Sync(ctx), f.Sync(ctx), putErr, blobErr,
				readErr} {
				if !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(),
					"session s: out of use until it is opened again") {
					t.Errorf("later call %d = %v, want the failure", i, err)
				}
			}
			if n := len(s.sys.calls) - before; n > 0 {
				t.Errorf("%d more calls of the system, want none: a failed sync must not be tried again", n)
			}
			if err := f.Close(); !errors.Is(err, syscall.EIO) {
				t.Errorf("Close = %v, want the failure", err)
			}
			if err := f.Close(); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("Close again = %v, want fs.ErrClosed", err)
			}
			s.check(s.real(), 1)
		})
	}
}

// A body that is nested too deep to be read again is refused, because its line would be taken for
// torn.
func TestA19_DeepBodies(t *testing.T) {
	ctx := context.Background()
	dir := NewDir(t.TempDir())
	f, err := dir.Create(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	nested := func(depth int) Record {
		return Record{Kind: "deep", Data: json.RawMessage(strings.Repeat("[", depth) + strings.Repeat("]", depth))}
	}
	if err := f.Append(ctx, 1, nested(deepest-1),
		Record{Kind: "flat", Data: json.RawMessage(`"` + strings.Repeat("[", deepest) + `"`)}); err != nil {
		t.Errorf("depth %d: %v", deepest-1, err)
	}
	if err := f.Append(ctx, 3, nested(deepest)); err == nil {
		t.Errorf("depth %d was taken", deepest)
	}
	if r, err := dir.Read(ctx, "s"); err != nil || r.Len() != 2 {
		t.Errorf("Read: %v", err)
	} else if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// Memory is limited by the longest line, not by the journal's size.
func TestA19_OpenStreams(t *testing.T) {
	ctx := context.Background()
	dir := NewDir(t.TempDir())
	f, err := dir.Create(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	const size, count = 1 << 20, 20
	body := json.RawMessage(`"` + strings.Repeat("x", size) + `"`)
	for n := range int64(count) {
		if err := f.Append(ctx, n+1, Record{Kind: "big", Data: body}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	sparse := dir.file("s", linesExt)
	info, err := os.Stat(sparse)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(sparse, info.Size()+100*size); err != nil { // NULs
		t.Fatal(err)
	}
	used := allocated(func() { f, err = dir.Open(ctx, "s") })
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// The growing buffer allocates about 5 times the length of a line.
	if f.Len() != count || used > 10*size {
		t.Errorf("Open of %d records allocated %d MiB", f.Len(), used/size)
	}
	huge := json.RawMessage(`"` + strings.Repeat("y", 20*size) + `"`)
	if err := f.Append(ctx, count+1, Record{Kind: "huge", Data: huge}); err != nil {
		t.Fatal(err)
	}
	for r, err := range f.Records(ctx, count) {
		if want := map[int64]json.RawMessage{count: body, count + 1: huge}[r.N]; err != nil ||
			!bytes.Equal(r.Data, want) {
			t.Errorf("record %d has %d bytes, want %d, %v", r.N, len(r.Data), len(want), err)
		}
	}
}

// allocated returns the bytes that a function allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
