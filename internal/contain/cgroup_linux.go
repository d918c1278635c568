package contain

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// leafPrefix begins the names of our cgroups.
const leafPrefix = "attractor-"

// cgroups makes a cgroup for each command in a directory that a probe found to work.
type cgroups struct{ dir string }

// findCgroups tries the directories in which a cgroup may be made, and returns why none works.
func findCgroups(shell string) (*cgroups, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	errs := []error{errors.New("no usable cgroup of version 2")}
	for _, dir := range cgroupDirs(string(mounts), string(own), os.Getuid()) {
		c := &cgroups{dir: dir}
		err := c.probe(shell)
		if err == nil {
			c.tidy()
			return c, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// cgroupDirs returns the directories to try: for each mount of cgroup version 2, this process's own cgroup, and the slice that was
// delegated to the user when both are in the same user's slice. Limits that hold for the own cgroup hold for those below it; no
// directory further up is tried, so that no command escapes them.
func cgroupDirs(mountinfo, own string, uid int) []string {
	const version2 = "0::" // proc_pid_cgroup, the line of the one hierarchy of version 2
	var at string
	for line := range strings.Lines(own) {
		if rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), version2); ok {
			at = rest
		}
	}
	if at == "" {
		return nil // version 1 alone
	}
	paths := []string{at}
	id := strconv.Itoa(uid)
	if slice := "/user.slice/user-" + id + ".slice/"; strings.HasPrefix(at, slice) {
		paths = append(paths, slice+"user@"+id+".service")
	}
	var dirs []string
	for _, p := range paths {
		for line := range strings.Lines(mountinfo) {
			if dir, ok := mountedAt(line, p); ok && !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// mountedAt returns where a path of the hierarchy is seen through a mount: a line of proc_pid_mountinfo(5), id parent device root
// mountpoint options [tags] - type source options.
func mountedAt(line, hierarchyPath string) (string, bool) {
	before, after, ok := strings.Cut(line, " - ")
	fields := strings.Fields(before)
	if !ok || !strings.HasPrefix(after, "cgroup2 ") || len(fields) < 5 {
		return "", false
	}
	root, point := unescapeMount(fields[3]), unescapeMount(fields[4])
	rest := hierarchyPath
	if root != "/" {
		if rest, ok = strings.CutPrefix(hierarchyPath, root); !ok || rest != "" && rest[0] != '/' {
			return "", false
		}
	}
	if slices.Contains(strings.Split(rest, "/"), "..") {
		return "", false // outside of this process's cgroup namespace
	}
	return path.Join(point, rest), true
}

// unescapeMount undoes the kernel's octal escapes of blanks and backslashes.
func unescapeMount(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// probe does once all that a command will need: make, start, find, kill and remove.
func (c *cgroups) probe(shell string) (err error) {
	leaf, err := c.make(rand.Text())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leaf.Close()) }()
	cmd := exec.Command(shell, "-c", "read x")
	stdin, err := cmd.StdinPipe() // nothing comes, so it waits for the kill
	if err != nil {
		return err
	}
	if err := leaf.start(cmd); err != nil {
		return errors.Join(err, stdin.Close())
	}
	members, listErr := leaf.members()
	found := slices.ContainsFunc(members, func(m member) bool { return m.pid == cmd.Process.Pid })
	killErr := leaf.Signal(syscall.SIGKILL)
	if killErr != nil {
		killErr = errors.Join(killErr, cmd.Process.Kill())
	}
	waitErr := cmd.Wait()
	var exit *exec.ExitError
	if err := errors.Join(listErr, killErr); err != nil {
		return err
	}
	if !found || !errors.As(waitErr, &exit) {
		return fmt.Errorf("cgroup %s: the process was found: %t; it ended with %v", leaf.dir, found, waitErr)
	}
	for end := time.Now().Add(settleTime); leaf.Alive(); time.Sleep(pollTime / 5) {
		if time.Now().After(end) {
			return fmt.Errorf("cgroup %s: not empty after the kill", leaf.dir)
		}
	}
	return nil
}

func (c *cgroups) name() string { return Cgroup }

func (c *cgroups) hides() bool { return false }

func (c *cgroups) close() error { return nil }

// start starts a command in a cgroup of its own.
func (c *cgroups) start(cmd *exec.Cmd, id string) (Tree, error) {
	leaf, err := c.make(id)
	if err != nil {
		return nil, err // and not a *leaf that is nil
	}
	return leaf, leaf.start(cmd)
}

// start starts a command in the cgroup: the kernel makes the process there, so that it never was anywhere else.
func (l *leaf) start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(l.held.Fd())
	return cmd.Start()
}

// gone reports that an error says that a cgroup or a process is no more.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ESRCH)
}
