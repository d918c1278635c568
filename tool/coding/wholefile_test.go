package coding

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/tool"
)

// readCounter counts the bytes that are read from the files of an environment.
type readCounter struct {
	env.Base
	read *int64
}

func (c readCounter) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	f, err := c.Base.Open(ctx, name)
	return countedFile{f, c.read}, err
}

type countedFile struct {
	io.ReadCloser
	read *int64
}

func (f countedFile) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	*f.read += int64(n)
	return n, err
}

// TestK7_LargeFiles has files of 100 MiB refused before they are read.
func TestK7_LargeFiles(t *testing.T) {
	b := newFixture(t)
	var read int64
	b.env = readCounter{env.Base{Environment: b.env}, &read}
	calls := []struct {
		tool tool.Tool
		args object
		want string
	}{
		{EditFile(), object{"file_path": "f", "old_string": "first", "new_string": "second"},
			"f is larger than 64 MiB; change it with shell"},
		{ApplyPatch(), object{"patch": "*** Begin Patch\n*** Update File: f\n-first\n+second\n*** End Patch"},
			"it is larger than 64 MiB, so a patch can neither change nor delete it"},
		{ApplyPatch(), object{"patch": "*** Begin Patch\n*** Delete File: f\n*** End Patch"},
			"it is larger than 64 MiB"},
	}
	for _, c := range calls {
		b.put("f", "first\n")
		if err := os.Truncate(filepath.Join(b.dir, "f"), 100<<20); err != nil {
			t.Fatal(err)
		}
		read = 0
		b.fails(c.tool, c.args, c.want)
		if read != 0 {
			t.Errorf("%v: %d bytes were read", c.args, read)
		}
	}
}
