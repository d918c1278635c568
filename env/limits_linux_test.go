package env_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
)

// bomb starts processes that wait to be killed, until the kernel refuses one or there are far more
// than any limit of these tests. So the machine survives a limit that does not work. It prints how
// many it has started. bash would try again for a minute.
const bomb = `exec /bin/sh -c 'n=0; trap "echo started \$n" EXIT; while [ $n -lt 900 ]; do sleep 600 2>/dev/null & n=$((n+1)); done'`

// limitOf returns the limits of processes and memory that a Local says it has.
func limitOf(l *env.Local) env.Limits { return env.ConfinementOf(l).Limits }

// A fork bomb ends in an error at each level that limits processes, and the level says so. Where
// there is no limit, the level says that.
func TestL6_ForkBomb(t *testing.T) {
	atLevels(t, func(t *testing.T, level string) {
		l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level, Limits: env.Limits{Processes: 100}})
		if limitOf(l).Processes == 0 {
			if !strings.HasPrefix(l.Confinement().Containment, level+"; processes unlimited, ") {
				t.Errorf("Containment is %q", l.Confinement().Containment)
			}
			t.Skipf("%s cannot limit processes here", level)
		}
		if !strings.HasPrefix(l.Confinement().Containment, level+"; at most 100 processes, ") {
			t.Errorf("Containment is %q", l.Confinement().Containment)
		}
		text, result := run(t, l, env.Command{Script: bomb})
		started := counted(t, text)
		if result.Code == 0 || started < 80 || started > 100 {
			t.Errorf("%d processes were started: %+v\n%s", started, result.Exit, text)
		}
		t.Logf("%s: %d processes; the exit names %q", level, started, result.Exit.Limits)
		// What the bomb left counts only for its own command.
		if err := result.Process.Kill(t.Context()); err != nil {
			t.Error(err)
		}
		if text, result := run(t, l, env.Command{Script: "/bin/true && echo fine"}); text != "fine\n" ||
			len(result.Exit.Limits) > 0 {
			t.Errorf("the next command: %q, %+v", text, result)
		}
	})
}

// counted returns the number in the last "started N".
func counted(t *testing.T, text string) int {
	t.Helper()
	_, last, ok := strings.Cut(text, "started ")
	n, err := strconv.Atoi(strings.TrimSpace(last))
	if !ok || err != nil {
		t.Fatalf("no number of processes in %q: %v", text, err)
	}
	return n
}

// A real fork bomb ends with its time limit, and nothing of it is left.
func TestL6_ForkBombThatGoesOn(t *testing.T) {
	atLevels(t, func(t *testing.T, level string) {
		l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level, Limits: env.Limits{Processes: 64}})
		if limitOf(l).Processes == 0 {
			t.Skipf("%s cannot limit processes here", level)
		}
		tag := newTag()
		// Each generation starts two more; after twelve it ends by itself, if no limit does that.
		script := `bomb() { [ "$1" -gt 12 ] && exec sleep 600; bomb $(($1+1)) | bomb $(($1+1)) & }; bomb 0 2>/dev/null; sleep 600`
		result, err := env.Run(t.Context(), l, env.Command{Script: script, Env: []string{tag}}, time.Second)
		if err != nil || !result.TimedOut {
			t.Errorf("%+v, %v", result, err)
		}
		if left := withVar(t, tag); len(left) > 0 {
			t.Errorf("left %q", left)
		}
	})
}

// The default is a limit, and no limit can be chosen.
func TestL6_Defaults(t *testing.T) {
	atLevels(t, func(t *testing.T, level string) {
		l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level})
		want := level + "; processes unlimited, memory unlimited"
		if limitOf(l).Processes > 0 {
			want = fmt.Sprintf("%s; at most %d processes, memory unlimited", level, env.DefaultProcesses)
		}
		if got := l.Confinement().Containment; got != want {
			t.Errorf("Containment is %q, want %q", got, want)
		}
		l = newLocal(t, t.TempDir(), env.LocalOptions{Containment: level, Limits: env.Limits{Processes: -1}})
		if got := l.Confinement().Containment; got != level || limitOf(l) != (env.Limits{}) {
			t.Errorf("Containment without limits is %q", got)
		}
		if text, _ := run(t, l, env.Command{Script: `n=0; while [ $n -lt 150 ]; do sleep 600 & n=$((n+1)); done; kill $(jobs -p); echo "started $n"`}); counted(t, text) != 150 {
			t.Errorf("without a limit: %q", text)
		}
	})
}

// A command that needs more memory than allowed is killed, and its exit says why.
func TestL6_Memory(t *testing.T) {
	atLevels(t, func(t *testing.T, level string) {
		l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level, Limits: env.Limits{Memory: 64 << 20}})
		if limitOf(l).Memory == 0 {
			if !strings.HasSuffix(l.Confinement().Containment, ", memory unlimited") {
				t.Errorf("Containment is %q", l.Confinement().Containment)
			}
			t.Skipf("%s cannot limit memory here", level)
		}
		if !strings.HasSuffix(l.Confinement().Containment, ", memory 64 MiB") {
			t.Errorf("Containment is %q", l.Confinement().Containment)
		}
		const hog = `head -c 300M /dev/zero | tail | wc -c; [ ${PIPESTATUS[1]} = 0 ]` // tail keeps what has no line end
		text, result := run(t, l, env.Command{Script: hog})
		if result.Code == 0 || strings.Contains(text, "314572800") || !slices.Equal(result.Exit.Limits,
			[]string{"memory 64 MiB"}) {
			t.Errorf("%+v\n%s", result.Exit, text)
		}
		free := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level})
		if text, result := run(t, free, env.Command{Script: hog}); strings.TrimSpace(text) != "314572800" ||
			len(result.Exit.Limits) > 0 {
			t.Errorf("without a limit: %+v\n%s", result.Exit, text)
		}
	})
}

// Nothing is left of the cgroups of commands.
func TestL6_NoCgroupIsLeft(t *testing.T) {
	atLevels(t, func(t *testing.T, level string) {
		l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level})
		text, _ := run(t, l, env.Command{Script: "cat /proc/self/cgroup; sleep 600 >/dev/null 2>&1 &"})
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(text) {
			_, at, ok := strings.Cut(strings.TrimSpace(line), "/attractor-")
			if !ok {
				continue
			}
			found, err := filepath.Glob("/sys/fs/cgroup/*/attractor-" + at)
			if more, _ := filepath.Glob("/sys/fs/cgroup/*/*/*/attractor-" + at); err != nil ||
				len(found)+len(more) > 0 {
				t.Errorf("left %q %q: %v", found, more, err)
			}
		}
	})
}

// The limits of each process hold at every level, on every system.
func TestL6_FilesOfEachProcess(t *testing.T) {
	atLevels(t, func(t *testing.T, level string) {
		dir := t.TempDir()
		l := newLocal(t, dir, env.LocalOptions{Containment: level,
			Limits: env.Limits{Processes: -1, FileSize: 1 << 20, OpenFiles: 40}})
		want := level + "; processes unlimited, memory unlimited, files up to 1 MiB, 40 open files"
		if l.Confinement().Containment != want {
			t.Errorf("Containment is %q, want %q", l.Confinement().Containment, want)
		}
		_, result := run(t, l, env.Command{Script: "head -c 3000000 /dev/zero >big"})
		info, err := os.Stat(filepath.Join(dir, "big"))
		if err != nil || info.Size() != 1<<20 || !slices.Equal(result.Exit.Limits, []string{"files up to 1 MiB"}) {
			t.Errorf("%+v, %+v, %v", result.Exit, info, err)
		}
		text, result := run(t, l,
			env.Command{Script: `for n in $(seq 4 60); do eval "exec $n</dev/null" || exit 7; done; echo all`})
		if result.Code == 0 || strings.Contains(text, "all") {
			t.Errorf("60 files were open: %+v\n%s", result.Exit, text)
		}
		// The command is the shell as before: the limits leave no process and no variable.
		text, _ = run(t, l, env.Command{Script: `echo "$0"; echo $PPID; ulimit -n; ps -o args= -p $$ 2>/dev/null | head -c 9`})
		free := newLocal(t, dir, env.LocalOptions{Containment: level})
		plain, _ := run(t, free,
			env.Command{Script: `echo "$0"; echo $PPID; echo 40; ps -o args= -p $$ 2>/dev/null | head -c 9`})
		if text != plain {
			t.Errorf("with limits %q, without %q", text, plain)
		}
	})
}

// A limit above that of the host is the host's.
func TestL6_NoHigherThanTheHost(t *testing.T) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{Limits: env.Limits{OpenFiles: 1 << 40}})
	var out capture.Buffer
	if _, err := env.Run(t.Context(), l, env.Command{Script: "ulimit -Hn", Output: out.Write}, 0); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(out.Text()); got != strconv.FormatInt(limitOf(l).OpenFiles, 10) {
		t.Errorf("the limit is %s, but the Local says %d", got, limitOf(l).OpenFiles)
	}
}
