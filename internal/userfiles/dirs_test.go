package userfiles_test

import (
	"path/filepath"
	"testing"

	"github.com/attractor-go/attractor/internal/userfiles"
)

// The store of sessions is in the home directory that the program names, not in that of the
// process.
func TestN8_StateOfTheNamedHome(t *testing.T) {
	home := t.TempDir()
	if state, err := userfiles.StateDir(
		func(name string) string { return map[string]string{"HOME": home}[name] }); err != nil ||
		state != filepath.Join(home, ".local", "state") {
		t.Errorf("%s, %v", state, err)
	}
	if state, err := userfiles.StateDir(func(string) string { return "" }); err == nil ||
		err.Error() != "set XDG_STATE_HOME or HOME" {
		t.Errorf("%s, %v", state, err)
	}
}
