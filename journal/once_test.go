package journal

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
)

// counting is a system that counts the bytes of lines that are read.
type counting struct {
	system
	read int64
}

func (c *counting) open(path string, flag int) (handle, error) {
	h, err := c.system.open(path, flag)
	if err == nil && strings.HasSuffix(path, linesExt) {
		h = &counted{h, c}
	}
	return h, err
}

type counted struct {
	handle
	c *counting
}

func (h *counted) ReadAt(p []byte, at int64) (int, error) {
	n, err := h.handle.ReadAt(p, at)
	h.c.read += int64(n)
	return n, err
}

// A resumed session reads its journal once. Open reads the last line alone, and lines that Records
// has checked are not checked again.
func TestJ8_ReadOnce(t *testing.T) {
	ctx := context.Background()
	dir := NewDir(t.TempDir())
	f := created(t, dir, "s")
	for n := range int64(500) {
		if err := f.Append(ctx, n+1,
			Record{Kind: "result", Data: json.RawMessage(`"` + strings.Repeat("x", 2000) + `"`)}); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, f)
	info, err := os.Stat(dir.file("s", linesExt))
	if err != nil {
		t.Fatal(err)
	}
	sys := &counting{system: disk{}}
	dir.sys = sys
	if f, err = dir.Open(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Len() != 500 || sys.read > 16<<10 {
		t.Errorf("Open of %d records read %d bytes", f.Len(), sys.read)
	}
	if got := kindsOf(t, f.Records(ctx, 1)); len(got) != 500 {
		t.Fatalf("%d records", len(got))
	}
	if err := f.Append(ctx, 501, Record{Kind: "next"}); err != nil {
		t.Fatal(err)
	}
	if sys.read > info.Size()+16<<10 {
		t.Errorf("%d bytes of %d were read to open, fold and append", sys.read, info.Size())
	}
	sys.read = 0
	r := readOf(t, dir, "s")
	for range r.Records(ctx, 1) {
		break // as a list of sessions does
	}
	if sys.read > 128<<10 {
		t.Errorf("%d bytes of %d were read for the first record", sys.read, info.Size())
	}
}

// A blob of any size is copied in pieces.
func TestJ8_BlobsStream(t *testing.T) {
	ctx := context.Background()
	dir := NewDir(t.TempDir())
	f := created(t, dir, "s")
	const size = 64 << 20
	var hash string
	if used := allocated(func() {
		var err error
		if hash, err = f.PutBlob(ctx, io.LimitReader(zeros{}, size)); err != nil {
			t.Fatal(err)
		}
	}); used > 1<<20 {
		t.Errorf("PutBlob of %d bytes allocated %d", size, used)
	}
	if used := allocated(func() {
		b, err := f.Blob(ctx, hash)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if n, err := io.Copy(io.Discard, b); n != size || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
	}); used > 1<<20 {
		t.Errorf("Blob of %d bytes allocated %d", size, used)
	}
}

// zeros is an endless reader of zeros.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
