package env_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/env"
)

// atLevels runs a test at every level of containment that works on this machine, according to the
// test's own probes.
func atLevels(t *testing.T, test func(t *testing.T, level string)) {
	t.Helper()
	for level, probe := range probes() {
		t.Run(level, func(t *testing.T) {
			if err := probe(t); err != nil {
				t.Skipf("%s is not reachable here: %v", level, err)
			}
			test(t, level)
		})
	}
}

// levelOf returns the level of containment.
func levelOf(l *env.Local) string {
	level, _, _ := strings.Cut(l.Confinement().Containment, ";")
	return level
}

// probes returns a function for each level that tries what the level needs.
func probes() map[string]func(*testing.T) error {
	return map[string]func(*testing.T) error{
		env.ContainCgroupPIDNS: func(t *testing.T) error { return errors.Join(probeCgroup(t), probePIDNS(t)) },
		env.ContainPIDNS:       probePIDNS,
		env.ContainCgroup:      probeCgroup,
		env.ContainGroup:       func(*testing.T) error { return nil },
	}
}

// survivors lists the running processes that were started with an environment entry, whatever their
// names.
func survivors(t *testing.T, entry string, _ int) []string {
	t.Helper()
	return withVar(t, entry)
}

// withVar lists the processes whose environment has an entry. It is independent of the package.
func withVar(t *testing.T, entry string) (found []string) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range names {
		environ, err := os.ReadFile(dir + "/environ")
		if err != nil || !bytes.Contains(environ, []byte(entry)) {
			continue // also zombies, which have no environment
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			t.Fatal(err)
		}
		if runs(t, pid) {
			line, err := os.ReadFile(dir + "/cmdline")
			found = append(found, dir+" "+string(line))
			t.Log(dir, err)
		}
	}
	return found
}

// cgroupOf returns the directory of the version 2 cgroup in the text of a /proc/PID/cgroup.
func cgroupOf(t *testing.T, text string) (string, error) {
	t.Helper()
	mounts, err := exec.Command("findmnt", "-n", "-t", "cgroup2", "-o", "TARGET").Output()
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if at, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			mount, _, _ := strings.Cut(string(mounts), "\n")
			return filepath.Join(mount, at), nil
		}
	}
	return "", errors.New("not in a cgroup of version 2")
}

func noCgroup(t *testing.T, text string) {
	t.Helper()
	_, own, _ := strings.Cut(text, "0::/") // other lines are of version 1
	if own, _, _ = strings.Cut(own, "\n"); !strings.Contains("/"+own, "/attractor-") {
		return // at ContainGroup
	}
	dir, err := cgroupOf(t, text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("cgroup %s is left: %v", dir, err)
	}
}

// probePIDNS makes a namespace with its own /proc.
func probePIDNS(t *testing.T) error {
	t.Helper()
	cmd := exec.Command("sh", "-c",
		`mount --make-rslave / && umount -l /proc && mount -t proc proc /proc && read -r pid rest </proc/self/stat && echo "$pid $$"`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	if string(out) != "1 1\n" {
		return fmt.Errorf("its /proc contains %q", out)
	}
	return nil
}

// probeCgroup makes and uses a cgroup below the test's own.
func probeCgroup(t *testing.T) (err error) {
	t.Helper()
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return err
	}
	parent, err := cgroupOf(t, string(own))
	if err != nil {
		return err
	}
	dir := filepath.Join(parent, "probe-"+rand.Text())
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, syscall.Rmdir(dir)) }()
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(f.Fd())}
	if err := errors.Join(cmd.Start(), f.Close()); err != nil {
		return err
	}
	killErr := os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)
	if killErr != nil {
		killErr = errors.Join(killErr, cmd.Process.Kill())
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		return errors.Join(err, errors.New("the kill did not kill"))
	}
	return killErr
}
