package env_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/peer"
)

func TestD4_EveryLevelPassesTheSuite(t *testing.T) {
	t.Parallel()
	atLevels(t, func(t *testing.T, level string) {
		if levelOf(newLocal(t, t.TempDir(), env.LocalOptions{})) == level {
			t.Skip("TestD1_LocalPassesTheSuite runs the suite at the level that is the default here")
		}
		envtest.SuiteWith(t, func(t *testing.T) env.Environment {
			return newLocal(t, t.TempDir(), env.LocalOptions{Containment: level})
		}, envtest.Options{Parallel: true})
	})
}

// run runs a script to its end and returns its output.
func run(t *testing.T, e env.Environment, cmd env.Command) (string, env.Result) {
	t.Helper()
	var out capture.Buffer
	cmd.Output = out.Write
	result, err := env.Run(t.Context(), e, cmd, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return out.Text(), result
}

// What starts commands uses no program of the working directory or another one of the session, also
// if PATH has it first, as an activated environment of Python or Node does.
func TestD4_NoProgramsOfTheSession(t *testing.T) {
	dir, added := t.TempDir(), t.TempDir()
	mark := filepath.Join(t.TempDir(), "mark")
	for _, name := range []string{"bash", "sh", "mount", "ps", "kill"} {
		for _, in := range []string{dir, added} {
			trap := "#!/bin/sh\n: >" + mark + "\nPATH=/usr/bin:/bin exec " + name + " \"$@\"\n"
			if err := os.WriteFile(filepath.Join(in, name), []byte(trap), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	atLevels(t, func(t *testing.T, level string) {
		t.Setenv("PATH", dir+":"+added+":"+os.Getenv("PATH"))
		e := newLocal(t, dir, env.LocalOptions{Containment: level, Roots: []string{added},
			Limits: env.Limits{Processes: 100, FileSize: 1 << 20}})
		if out, _ := run(t, e, env.Command{Script: "echo ran"}); out != "ran\n" {
			t.Errorf("it said %q", out)
		}
		if os.Remove(mark) == nil {
			t.Error("a program of the session ran")
		}
	})
}

// A command finds the same at every level, except for process ids, its cgroup, its /proc and
// CAP_SYS_PTRACE.
func TestD4_LevelsDifferInNothingElse(t *testing.T) {
	const script = `id; pwd; readlink /proc/self/cwd /proc/self/root; umask; ulimit -a; nice
		env | grep -v '^` + env.MarkVar + `=\|^_=' | sort
		grep -v ' /proc ' /proc/self/mountinfo | cut -d' ' -f4- | sort # without the mounts' ids
		while read -r name set; do case $name in Cap*) printf '%s %x\n' $name $((0x$set & ~(1 << 19)));; esac; done </proc/self/status
		grep '^\(Seccomp\|NoNewPrivs\|Sig[BIC]\|Groups\|Cpus\)' /proc/self/status
		cat /proc/self/oom_score_adj; readlink /proc/self/ns/user /proc/self/ns/net /proc/self/ns/ipc /proc/self/ns/uts
		for fd in /proc/$$/fd/*; do echo "$fd" | sed 's/.*fd.//'; done
		kill -l $(sh -c 'kill -SEGV $$' 2>/dev/null; echo $?); exit 37`
	dir := t.TempDir()
	seen := make(map[string]string)
	atLevels(t, func(t *testing.T, level string) {
		l := newLocal(t, dir, env.LocalOptions{Containment: level})
		text, result := run(t, l, env.Command{Script: script})
		if result.Code != 37 {
			t.Errorf("exit is %+v", result)
		}
		seen[level] = text
	})
	for level, text := range seen {
		if diff := cmp.Diff(seen[env.ContainGroup], text); diff != "" {
			t.Errorf("at %s:\n%s", level, diff)
		}
	}
}

// A command's exit is reported exactly.
func TestD4_ExitsAreExact(t *testing.T) {
	atLevels(t, func(t *testing.T, level string) {
		l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level})
		for script, want := range map[string]env.Exit{
			"exit 0": {}, "exit 255": {Code: 255}, "kill -KILL $$": {Code: -1, Signal: "SIGKILL"},
			"kill -USR1 $$": {Code: -1, Signal: "SIGUSR1"},
			"kill -TERM $$": {Code: -1, Signal: "SIGTERM"}, "trap 'exit 5' TERM; kill -TERM $$": {Code: 5},
		} {
			_, result := run(t, l, env.Command{Script: script})
			if result.Code != want.Code || result.Signal != want.Signal || len(result.Left) > 0 {
				t.Errorf("%s: %+v", script, result)
			}
		}
	})
}

func inNamespaces(t *testing.T, opts env.LocalOptions) *env.Local {
	t.Helper()
	if err := probePIDNS(t); err != nil {
		t.Skipf("%s is not reachable here: %v", env.ContainPIDNS, err)
	}
	opts.Containment = env.ContainPIDNS
	return newLocal(t, t.TempDir(), opts)
}

// A command that signals all processes it sees reaches only its own, and the keeper survives.
func TestD4_ACommandCannotKillItsKeeper(t *testing.T) {
	l := inNamespaces(t, env.LocalOptions{})
	text, result := run(t, l, env.Command{Script: `trap '' TERM
		sleep 1000 & setsid sleep 1000 & kill -TERM -1; kill -KILL 1; kill -KILL -1; wait 2>/dev/null; echo "all but me"; kill -0 1 && echo "and the first"`})
	if !strings.HasSuffix(text, "all but me\nand the first\n") || result.Code != 0 || len(result.Left) > 0 {
		t.Errorf("%q, %+v", text, result)
	}
	// The keeper's child was killed too, and restarted: it receives this TERM, otherwise the test
	// lasts for the grace time.
	l = inNamespaces(t, env.LocalOptions{Grace: time.Hour})
	out := watch()
	p := start(t, l, env.Command{Script: `kill -KILL -1; trap 'echo bye; exit 4' TERM; echo ready; while :; do sleep 0.01; done`, Output: out.Write})
	out.until(t, "ready\n")
	if err := p.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	if exit := wait(t, p); exit.Code != 4 {
		t.Errorf("exit is %+v", exit)
	}
}

// File names made from $$ do not clash between commands.
func TestD4_ProcessIDsContinue(t *testing.T) {
	l := inNamespaces(t, env.LocalOptions{})
	if _, err := os.Stat("/proc/sys/kernel/ns_last_pid"); err != nil {
		t.Skipf("the kernel cannot do this: %v", err)
	}
	seen := make(map[string]bool)
	for range 5 {
		text, _ := run(t, l, env.Command{Script: "echo $$"})
		if seen[text] {
			t.Errorf("%s was used again", text)
		}
		seen[text] = true
	}
}

// Nested namespaces work: they are listed and end with the outer one.
func TestD4_NamespacesNest(t *testing.T) {
	peer.Need(t, "unshare")
	l := inNamespaces(t, env.LocalOptions{})
	tag, out := newTag(), watch()
	p := start(t, l, env.Command{
		Script: `setsid unshare -p -f sh -c 'echo ready; sleep 1000; :' >/proc/$$/fd/1 & read x`, Env: []string{tag},
		Stdin: true, Output: out.Write})
	out.until(t, "ready\n")
	if err := p.Stdin().Close(); err != nil {
		t.Error(err)
	}
	if exit := wait(t, p); len(exit.Left) != 3 { // unshare, sh and sleep
		t.Errorf("left %q", exit.Left)
	}
	if err := p.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	if left := withVar(t, tag); len(left) > 0 {
		t.Errorf("left %q", left)
	}
	text, result := run(t, l, env.Command{Script: os.Args[0] + ` -test.run '^TestD4_NothingSurvives$/^pidns$' -test.v`})
	if result.Code != 0 || !strings.Contains(text, "PASS: TestD4_NothingSurvives/pidns/setsid") {
		t.Errorf("inside: %s", text)
	}
}

// againIn runs this test again in mount namespaces that a script prepares, and returns true there.
func againIn(t *testing.T, prepare string) bool {
	t.Helper()
	const inside = "ATTRACTOR_TEST_INSIDE"
	if os.Getenv(inside) != "" {
		return true
	}
	if err := probePIDNS(t); err != nil {
		t.Skipf("needs the privilege to change mounts: %v", err)
	}
	peer.Need(t, "unshare")
	cmd := exec.Command("unshare", "-m", "sh", "-e", "-c", prepare+` && exec "$0" "$@"`, os.Args[0],
		"-test.run=^"+t.Name()+"$", "-test.count=1", "-test.v")
	cmd.Env = append(os.Environ(), inside+"="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// A command's mounts propagate as they do without containment, except its /proc.
func TestD4_MountsOfACommand(t *testing.T) {
	const prepare = `mount --make-shared -t tmpfs none "$ATTRACTOR_TEST_INSIDE" && mount --make-shared /proc`
	if !againIn(t, prepare) {
		return
	}
	dir := os.Getenv("ATTRACTOR_TEST_INSIDE")
	l := inNamespaces(t, env.LocalOptions{})
	before, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	text, result := run(t, l, env.Command{Script: `mkdir in && mount -t tmpfs none in && touch in/made`, Dir: dir})
	if result.Code != 0 {
		t.Fatalf("%s", text)
	}
	if _, err := os.Stat(filepath.Join(dir, "in/made")); err != nil {
		t.Errorf("the command's mount is not visible: %v", err)
	}
	if text, _ := run(t, l, env.Command{Script: "ls in", Dir: dir}); text != "made\n" {
		t.Errorf("the next command finds %q", text)
	}
	if text, result := run(t, l, env.Command{Script: "umount in", Dir: dir}); result.Code != 0 {
		t.Errorf("umount: %s", text)
	}
	after, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || string(after) != string(before) {
		t.Errorf("mounts have changed: %v\n%s\n%s", err, before, after)
	}
}

// A /proc with options and with mounts in it, as in containers, looks the same to a command.
func TestD4_ProcIsLikeTheHosts(t *testing.T) {
	const prepare = `covered=$ATTRACTOR_TEST_INSIDE/covered; echo covered >"$covered" && mount -t proc -o nosuid,nodev,noexec,hidepid=1 proc /proc && mount --bind "$covered" /proc/version &&
		mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && mount -t tmpfs -o ro none /proc/sys/fs`
	if !againIn(t, prepare) {
		return
	}
	const script = `cat /proc/version; grep ' /proc/' /proc/self/mountinfo | cut -d' ' -f4-; ls /proc/sys/fs; echo x 2>&1 >/proc/sys/kernel/hostname
		tac /proc/self/mountinfo | grep -m1 ' /proc ' | cut -d' ' -f4-`
	own, err := exec.Command("bash", "-c", script).Output()
	if err != nil {
		t.Fatal(err)
	}
	text, _ := run(t, inNamespaces(t, env.LocalOptions{}), env.Command{Script: script})
	// The old /proc and the mounts in it are still listed, below the new one.
	if want := string(own); !strings.HasPrefix(text, "covered\n") || !strings.Contains(want, "hidepid=") ||
		lastLine(text) != lastLine(want) {
		t.Errorf("%s\nand outside\n%s", text, want)
	}
	if !strings.Contains(text, "Read-only file system") || strings.Contains(text, "file-max") {
		t.Errorf("/proc differs from the host's: %s", text)
	}
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// TestHost runs as the host process that other tests kill.
func TestHost(t *testing.T) {
	level, script := os.Getenv("ATTRACTOR_TEST_LEVEL"), os.Getenv("ATTRACTOR_TEST_SCRIPT")
	if level == "" {
		t.Skip("a helper process of other tests")
	}
	l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level})
	wait(t, start(t, l, env.Command{Script: script}))
}

// killHost starts a command in a host process and kills only the host. It returns what the command
// had printed, and a FIFO that the command and its children hold open.
func killHost(t *testing.T, level, script string, env ...string) (said string, held *bufio.Reader) {
	t.Helper()
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	host := exec.Command(os.Args[0], "-test.run=^TestHost$")
	host.Env = append(append(os.Environ(), "TMPDIR="+dir /* which it cannot clean up */, "ATTRACTOR_TEST_LEVEL="+level,
		"ATTRACTOR_TEST_SCRIPT=exec >"+fifo+"; "+script), env...)
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(fifo) // waits for the command to open it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	held = bufio.NewReader(f)
	for !strings.HasSuffix(said, "ready\n") {
		line, err := held.ReadString('\n')
		if err != nil {
			t.Fatalf("%q, %v", said, err)
		}
		said += line
	}
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := host.Wait(); !errors.As(err, &exit) {
		t.Errorf("the host ended with %v", err)
	}
	return said, held
}

// The keeper ends with its host, however that ends, and so do all its processes.
func TestD4_NoOrphansInNamespaces(t *testing.T) {
	inNamespaces(t, env.LocalOptions{})
	tag := newTag()
	_, held := killHost(t, env.ContainPIDNS,
		`trap '' TERM HUP; setsid sh -c 'trap "" TERM HUP; echo ready; sleep 1000; :' & setsid sleep 1000 & sleep 1000`,
		tag)
	if rest, err := io.ReadAll(held); err != nil || len(rest) > 0 { // returns when no process holds the other end
		t.Errorf("%q, %v", rest, err)
	}
	if !await.Holds(func() bool { return len(withVar(t, tag)) == 0 }) {
		t.Errorf("left %q", withVar(t, tag))
	}
}

// The cgroup of a killed host remains while a process runs in it, and the next Local removes it.
func TestD4_CgroupsOfAKilledHostAreRemoved(t *testing.T) {
	if err := probeCgroup(t); err != nil {
		t.Skipf("%s is not reachable here: %v", env.ContainCgroup, err)
	}
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir()) // so that no other host on this machine ends the command
	said, held := killHost(t, env.ContainCgroup, `cat /proc/self/cgroup; echo ready; exec sleep 1000`)
	dir, err := cgroupOf(t, said)
	if err != nil {
		t.Fatal(err)
	}
	newLocal(t, t.TempDir(), env.LocalOptions{Containment: env.ContainCgroup})
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("the command runs, but its cgroup: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(held); err != nil {
		t.Error(err)
	}
	await.For(t, "the removal of "+dir, func() bool { // a process closes its files before it ends
		newLocal(t, t.TempDir(), env.LocalOptions{Containment: env.ContainCgroup})
		_, err := os.Stat(dir)
		return errors.Is(err, os.ErrNotExist)
	})
}
