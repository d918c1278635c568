package env_test

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/env"
)

// TestHideHost runs as a host process with a key in its environment, and runs a command.
func TestHideHost(t *testing.T) {
	level, script := os.Getenv("ATTRACTOR_TEST_LEVEL"), os.Getenv("ATTRACTOR_TEST_SCRIPT")
	if level == "" || script == "" {
		t.Skip("a helper process of other tests")
	}
	if os.Getenv("ATTRACTOR_TEST_CONCEAL") != "" {
		if err := env.Conceal(); err != nil {
			t.Fatal(err)
		}
		if os.Getenv(hostKey) == "" || len(os.Environ()) < 4 {
			t.Error("os.Getenv lost the environment")
		}
	}
	l := newLocal(t, os.TempDir(), env.LocalOptions{Containment: level})
	text, result := run(t, l, env.Command{Script: script})
	if _, err := os.Stdout.WriteString("<<<" + text + ">>>"); err != nil || result.Code != 0 {
		t.Errorf("%+v: %v", result, err)
	}
}

// hostKey is the variable with the host's secret, hostSecret. Scripts contain it with quotes, so
// that a search does not find the script.
const hostKey, hostSecret, quotedSecret = "ANTHROPIC_API_KEY", "sk-of-the-host", `sk-of""-the-host`

// asHost runs a script as the command of a host process and returns its output.
func asHost(t *testing.T, level, script string, attr *syscall.SysProcAttr, more ...string) string {
	t.Helper()
	// Not by its name, so that another user does not need access to the directory.
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestHideHost$", "-test.count=1")
	cmd.Dir = "/"
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TMPDIR=/tmp", hostKey + "=" + hostSecret,
		"ATTRACTOR_TEST_LEVEL=" + level, "ATTRACTOR_TEST_SCRIPT=" + script}, more...)
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	_, text, ok := strings.Cut(string(out), "<<<")
	text, _, closed := strings.Cut(text, ">>>")
	if err != nil || !ok || !closed {
		t.Fatalf("%v\n%s", err, out)
	}
	return text
}

// lookForKeys searches for the host's key in every way available to a command and prints how often
// it was found.
const lookForKeys = `look() { { tr '\0' '\n' </proc/$PPID/environ; cat /proc/*/environ; cat /proc/*/task/*/environ; } 2>/dev/null; }
	see() { ls -d /proc/[0-9]* 2>/dev/null | wc -l; }
	look >found; see; for place in $(grep ' - proc ' /proc/self/mountinfo | cut -d' ' -f5) /proc /proc /proc; do
		umount -l $place 2>/dev/null && { look >>found; see; } || :; done
	grep -ac ` + quotedSecret + ` found || :`

// At the levels that hide the host, no command of root finds the host's key: not in its parent, not
// in any process, and not after unmounting /proc.
func TestI4_NoKeyOfTheHost(t *testing.T) {
	atLevels(t, func(t *testing.T, level string) {
		hides := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level}).Confinement().HidesHost
		script := "set -u; cd " + t.TempDir() + "\n" + lookForKeys
		if !hides {
			script = strings.ReplaceAll(script, "umount -l $place", "false") // that one is not the command's own
		}
		text := asHost(t, level, script, nil)
		lines := strings.Fields(text)
		found := lines[len(lines)-1] != "0"
		if found == hides {
			t.Errorf("HidesHost is %t, key found: %t", hides, found)
		}
		if !hides {
			return
		}
		for _, seen := range lines[:len(lines)-1] {
			if n, err := strconv.Atoi(seen); err != nil || n > 7 { // the keeper and its child, the shell and its pipes
				t.Errorf("%s processes are visible: %q", seen, lines)
			}
		}
		if len(lines) < 3 {
			t.Errorf("nothing was unmounted: %q", lines)
		}
	})
}

// With one namespace for all commands, a command that is just starting is for a moment a copy of
// the host, with its memory and files. Other commands cannot look into processes with the host's
// capabilities, only into each other.
func TestI4_NoLookAtACopyOfTheHost(t *testing.T) {
	l, err := env.NewLocal(t.TempDir(), env.LocalOptions{Containment: env.ContainCgroupPIDNS})
	if err != nil {
		t.Skipf("not reachable here: %v", err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	// The keeper has those capabilities too.
	text, _ := run(t, l, env.Command{Script: `for file in mem fd/0; do : 2>/dev/null </proc/1/$file && echo "$file of the keeper"; done
		sleep 1000 & cat /proc/$!/environ >/dev/null && : </proc/$!/fd/1 && echo "among commands"; kill $!
		while read -r name set; do case $name in CapPrm: | CapBnd: | CapInh:) echo "$name $((0x$set >> 19 & 1))";; esac; done </proc/self/status`})
	if want := "among commands\nCapInh: 0\nCapPrm: 0\nCapBnd: 0\n"; text != want {
		t.Errorf("%q, want %q", text, want)
	}
}

// A procfs that is mounted elsewhere does not show the host's processes either, and the host's own
// mounts remain.
func TestI4_OtherMountsOfProc(t *testing.T) {
	const prepare = `mkdir -p "$ATTRACTOR_TEST_INSIDE/a/proc" && mount --make-shared -t tmpfs none "$ATTRACTOR_TEST_INSIDE/a" && mkdir "$ATTRACTOR_TEST_INSIDE/a/proc" &&
		mount -t proc proc "$ATTRACTOR_TEST_INSIDE/a/proc" && mount --make-shared /proc && mount --make-shared /`
	if !againIn(t, prepare) {
		return
	}
	place := os.Getenv("ATTRACTOR_TEST_INSIDE") + "/a/proc"
	before, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range []string{env.ContainPIDNS, env.ContainCgroupPIDNS} {
		l, err := env.NewLocal(t.TempDir(), env.LocalOptions{Containment: level})
		if err != nil && level == env.ContainCgroupPIDNS {
			t.Logf("%s is not reachable here: %v", level, err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		text, _ := run(t, l, env.Command{Script: "cd " + place + ` && ls -d [0-9]* | wc -l; cd /; umount -l ` + place +
			"; ls " + place + ` | wc -l; umount -l /proc; ls /proc | wc -l`})
		if f := strings.Fields(text); len(f) != 3 || len(f[0]) > 1 || f[1] != "0" || f[2] != "0" {
			t.Errorf("%s: processes there, and what is below it and below /proc: %q", level, f)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if after, err := os.ReadFile("/proc/self/mountinfo"); err != nil || string(after) != string(before) {
		t.Errorf("mounts have changed: %v\n%s\n%s", err, before, after)
	}
}

// nobody returns the attributes for running as Debian's user nobody, or skips the test.
func nobody(t *testing.T) *syscall.SysProcAttr {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	const id = 65534
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
}

// Other processes of its user find no key in a concealed host's environment or memory, and root
// finds none in its environment.
func TestI4_AConcealedHost(t *testing.T) {
	const script = `find=$({ tr '\0' '\n' </proc/$PPID/environ; cat /proc/*/environ | tr '\0' '\n'; } 2>/dev/null)
		case $find in *` + quotedSecret + `*) echo found;; *) echo hidden;; esac
		( : </proc/$PPID/mem ) 2>/dev/null && echo memory || echo "no memory"
		unshare -Ur true 2>/dev/null && echo "a user namespace"`
	namespaces := exec.Command("unshare", "-Ur", "true").Run() == nil
	for name, c := range map[string]struct {
		attr    *syscall.SysProcAttr
		conceal string
		want    string
	}{
		"as nobody":                     {nobody(t), "ATTRACTOR_TEST_CONCEAL=1", "hidden\nno memory\n"},
		"as nobody, without concealing": {nobody(t), "X=1", "found\nmemory\n"},
		"as root":                       {nil, "ATTRACTOR_TEST_CONCEAL=1", "hidden\nmemory\n"},
	} {
		if namespaces {
			c.want += "a user namespace\n"
		}
		if got := asHost(t, env.ContainGroup, script+" || :", c.attr, c.conceal); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A command of a concealed host that uses this package is still found by its mark.
func TestI4_AMarkIsNotConcealed(t *testing.T) {
	got := asHost(t, env.ContainGroup, `tr '\0' '\n' </proc/$PPID/environ`, nil, "ATTRACTOR_TEST_CONCEAL=1",
		env.MarkVar+"=OUTER")
	if strings.TrimLeft(got, "\n") != env.MarkVar+"=OUTER\n" && strings.Trim(got, "\n") != env.MarkVar+"=OUTER" {
		t.Errorf("%q", got)
	}
}

// A command inherits only the standard descriptors, although the host has others that programs
// inherit.
func TestI4_NoDescriptorOfTheHost(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "open")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var inherited []int
	for _, want := range []int{3, 90} {
		fd, err := dupFrom(f, want)
		if err != nil {
			t.Fatal(err)
		}
		inherited = append(inherited, fd)
	}
	defer func() {
		for _, fd := range inherited {
			if err := syscall.Close(fd); err != nil {
				t.Error(err)
			}
		}
	}()
	atLevels(t, func(t *testing.T, level string) {
		l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level})
		for _, cmd := range []env.Command{{}, {Stdin: true}, {TTY: &env.Size{Rows: 24, Cols: 80}}} {
			cmd.Script = `places=/proc/$$/fd/*; [ "$HIDES" = true ] && places="$places /proc/1/fd/*" # of the keeper
				for fd in $places; do echo "${fd#/proc/} $(readlink $fd)"; done`
			cmd.Env = []string{"HIDES=" + strconv.FormatBool(l.Confinement().HidesHost)}
			text, _ := run(t, l, cmd)
			if strings.Contains(text, f.Name()) {
				t.Errorf("%+v: %s", cmd, text)
			}
		}
	})
}

// dupFrom duplicates a file to the first free descriptor from a number on. Programs inherit the
// duplicate.
func dupFrom(f *os.File, first int) (fd int, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var dupErr error
	err = conn.Control(func(old uintptr) { fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD, first) })
	return fd, errors.Join(err, dupErr)
}
