package atomicfile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/atomicfile"
)

// A file is replaced by one that only the user can read. After a failure it is as it was, and
// nothing is left beside it.
func TestI6_FilesAreReplacedWhole(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := atomicfile.WriteFunc(name, func(w io.Writer) error {
		_, err := io.WriteString(w, "half")
		return errors.Join(err, broken)
	})
	if data, errRead := os.ReadFile(name); !errors.Is(err, broken) || string(data) != "old" || errRead != nil {
		t.Errorf("%v; the file has %q, %v", err, data, errRead)
	}
	if err := errors.Join(atomicfile.Write(name, []byte("new")), atomicfile.SyncDir(dir)); err != nil {
		t.Error(err)
	}
	data, err := os.ReadFile(name)
	info, errStat := os.Stat(name)
	if err := errors.Join(err, errStat); err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); string(data) != "new" || mode != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("the file has %q, mode %v", data, mode)
	}
	if err := atomicfile.Write(dir, []byte("new")); err == nil {
		t.Error("a directory was replaced")
	}
	lost := filepath.Join(dir, "lost", "x")
	if err := atomicfile.Write(lost, nil); err == nil || !strings.Contains(err.Error(), lost) {
		t.Errorf("without a directory: %v", err)
	}
	for _, in := range []string{dir, filepath.Dir(dir)} {
		if left, err := filepath.Glob(filepath.Join(in, ".attractor-*")); err != nil || len(left) > 0 {
			t.Errorf("left %q, %v", left, err)
		}
	}
}
