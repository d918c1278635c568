package env

import (
	"errors"
	"io/fs"
	"testing"
)

// If a link is swapped in between resolve and os.Root, the refusal is the usual error.
func TestD2_LostRaceIsARefusal(t *testing.T) {
	l, err := NewLocal(t.TempDir(), LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, lost := l.roots[0].dir.Lstat("../x")
	err = l.fileError("open", "x", lost)
	var outside *outsideError
	if !errors.Is(err, fs.ErrPermission) || !errors.As(err, &outside) {
		t.Errorf("error %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
