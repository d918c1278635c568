package sandbox_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
)

// outliving are ways to leave a process behind that its command does not wait for, of which each
// keeps a FIFO open.
var outliving = map[string]string{
	"in the background": `PROGRAM &`,
	"nohup":             `nohup PROGRAM >/dev/null 2>&1 &`,
	"disowned":          `PROGRAM & disown`,
	"setsid":            `setsid PROGRAM &`,
	"forked twice":      `(setsid sh -c 'PROGRAM &' &)`,
	"coproc":            `coproc PROGRAM`,
}

// Nothing that a command starts outlives the session, whatever it does to get away.
func TestL12_Outlives(t *testing.T) {
	t.Parallel()
	p := needPrograms(t)
	for _, c := range confinements() {
		if c.options.Level == sandbox.Observe {
			continue // what lives there cannot say so; it is ended as without a sandbox
		}
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, p.attack)
			alive, leave := w.fifo("alive"), w.fifo("leave")
			e, end := w.enter(t, &c, p)
			var script strings.Builder
			for name, how := range outliving {
				script.WriteString(strings.ReplaceAll(how, "PROGRAM", `"$TOOL" stay alive "`+name+`"`) + "\n")
			}
			lines := bufio.NewReader(alive.read)
			var started sync.WaitGroup
			started.Go(func() {
				for range outliving {
					if line, err := lines.ReadString('\n'); err != nil {
						t.Errorf("not everything has started: %q, %v", line, err)
					}
				}
				if _, err := leave.write.WriteString("leave\n"); err != nil {
					t.Error(err)
				}
			})
			out := w.output(t, e, script.String()+"read line <leave; echo $line")
			started.Wait()
			if !strings.HasSuffix(out, "leave\n") {
				t.Errorf("the command printed %q", out)
			}
			end()
			w.do(alive.write.Close()) // then only what has been left keeps it open
			if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
				t.Errorf("after the end of the session something lives: %q, %v", rest, err)
			}
			w.do(errors.Join(alive.read.Close(), leave.read.Close(), leave.write.Close()))
		})
	}
}

// fifo is a FIFO in the root of a world, open for both sides.
type fifo struct{ read, write *os.File }

func (w *world) fifo(name string) fifo {
	w.t.Helper()
	name = filepath.Join(w.root, name)
	w.do(unix.Mkfifo(name, 0o600))
	both, err := os.OpenFile(name, os.O_RDWR, 0)
	w.do(err)
	read, err := os.OpenFile(name, os.O_RDONLY, 0)
	w.do(err)
	w.do(read.SetReadDeadline(time.Now().Add(time.Minute))) // instead of a test that hangs
	return fifo{read, both}
}

// The limits of files hold in the private directories too, and in a sandbox root cannot raise them.
func TestL6_FilesInTheSandbox(t *testing.T) {
	t.Parallel()
	for level, dirs := range map[sandbox.Level]string{sandbox.Workspace: ". $TMPDIR $HOME $HOME/.cache /dev/shm",
		sandbox.WorkspaceWeak: ". $TMPDIR $HOME"} {
		t.Run(string(level), func(t *testing.T) {
			b := newBox(t, t.TempDir(), sandbox.Options{Level: level, Helper: needPrograms(t).helper},
				env.LocalOptions{Limits: env.Limits{FileSize: 1 << 20, OpenFiles: 50}})
			out := b.succeeds(t, `trap "" XFSZ; for d in `+dirs+
				`; do head -c 2M /dev/zero 2>/dev/null >$d/big; stat -c %s $d/big; rm $d/big; done`)
			if want := strings.Repeat("1048576\n", len(strings.Fields(dirs))); out != want {
				t.Errorf("the files have sizes %q, want %q", out, want)
			}
			b.fails(t, "ulimit -f unlimited")
			b.fails(t, "ulimit -n 60")
		})
	}
}
