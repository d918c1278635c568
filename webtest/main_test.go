package webtest

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/attractor-go/attractor/internal/orphans"
)

var (
	screenshots = flag.String("screenshots", "", "write screenshots into this directory")
)

// the holds what all tests share: they run at the same time, and starting a browser takes longer
// than most of them.
var the struct {
	dir     string // removed at the end
	command command
	browser browser
	bugfix  struct {
		once onceError
		id   string
	}
}

// TestMain fails if anything is left of the browser or the command when the tests have ended.
func TestMain(m *testing.M) {
	flag.Parse()
	orphans.Verify(func() int {
		dir, err := os.MkdirTemp("", "webtest-")
		if err != nil {
			panic(err)
		}
		the.dir = dir
		code := m.Run()
		the.browser.close()
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return max(code, 1)
		}
		return code
	})
}

// command is the program attractor, built from this checkout when a test first needs it.
type command struct {
	once onceError
}

// path returns the path of the program.
func (c *command) path(t testing.TB) string {
	t.Helper()
	path := filepath.Join(the.dir, "attractor")
	err := c.once.do(func() error {
		out, err := exec.Command("go", "build", "-C", "..", "-o", path, "./cmd/attractor").CombinedOutput()
		if err != nil {
			return fmt.Errorf("go build: %w\n%s", err, out)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}
