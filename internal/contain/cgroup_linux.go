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
)

// leafPrefix is the prefix of our cgroups' names.
const leafPrefix = "attractor-"

// cgroups starts each command in a new cgroup below a directory that was found to work.
type cgroups struct {
	dir string
	own bool // it is the cgroup of this process

	limiter limiter
}

// findCgroups returns the level in the first directory in which cgroups can be made, or an error that says why none works. With
// proof a trial is not enough.
func findCgroups(shell string, mounts mountinfo, proof bool) (*cgroups, error) {
	list, err := mounts()
	if err != nil {
		return nil, err
	}
	own, err := readProc("/proc/self/cgroup", make([]byte, 0, 512))
	if err != nil {
		return nil, err
	}
	errs := []error{errors.New("no usable cgroup of version 2")}
	for _, dir := range cgroupDirs(list, string(own), os.Getuid()) {
		c := &cgroups{dir: dir, own: slices.Contains(mountedDirs(list, ownCgroup(string(own))), dir)}
		err := c.works(shell, proof)
		if err == nil {
			c.removeEmpty()
			return c, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// cgroupDirs returns the directories to try. For each mount of cgroup version 2 these are the cgroup of this process and, if both are
// in the same user's slice, the slice that was delegated to the user. Limits of a cgroup hold for those below it. No directory further
// up is tried, so that no command escapes the limits. Those below which commands can be limited come first.
func cgroupDirs(mountinfo, own string, uid int) []string {
	at := ownCgroup(own)
	if at == "" {
		return nil // only version 1
	}
	dirs := mountedDirs(mountinfo, at)
	id := strconv.Itoa(uid)
	if slice := "/user.slice/user-" + id + ".slice/"; strings.HasPrefix(at, slice) {
		dirs = append(dirs, mountedDirs(mountinfo, slice+"user@"+id+".service")...)
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return controllers(b) - controllers(a) })
	return dirs
}

// ownCgroup returns the path of the process in the hierarchy of version 2, or "" if there is none. The text is of proc_pid_cgroup(5).
func ownCgroup(text string) (at string) {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok { // the only hierarchy of version 2
			at = rest
		}
	}
	return at
}

// mountedDirs returns the directories that show a path of the hierarchy, one for each mount that has it.
func mountedDirs(mountinfo, hierarchyPath string) (dirs []string) {
	for line := range strings.Lines(mountinfo) {
		if dir, ok := mountedAt(line, hierarchyPath); ok && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// mountedAt returns where a mount shows a path of the hierarchy. The line is of proc_pid_mountinfo(5): id parent device root
// mountpoint options [tags] - type source options.
func mountedAt(line, hierarchyPath string) (string, bool) {
	if !strings.Contains(line, " - cgroup2 ") {
		return "", false
	}
	return shownAt(line, hierarchyPath)
}

// shownAt returns where a mount shows a path of its hierarchy.
func shownAt(line, hierarchyPath string) (string, bool) {
	before, _, ok := strings.Cut(line, " - ")
	fields := strings.Fields(before)
	if !ok || len(fields) < 5 {
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
		return "", false // outside this process's cgroup namespace
	}
	return path.Join(point, rest), true
}

// unescapeMount decodes the kernel's octal escapes of blanks and backslashes.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// works returns an error if commands cannot be started in cgroups.
func (c *cgroups) works(shell string, proof bool) error {
	if !proof && c.try() == nil {
		return nil
	}
	return c.probe(shell)
}

// probe does everything that a command needs: it makes a cgroup, starts a process in it, finds it, kills it and removes the cgroup.
func (c *cgroups) probe(shell string) (err error) {
	leaf, err := c.make(rand.Text())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leaf.Close()) }()
	cmd := exec.Command(shell, "-c", "read x")
	stdin, err := cmd.StdinPipe() // no input comes, so it waits to be killed
	if err != nil {
		return err
	}
	if err := leaf.toStart(cmd, nil)(); err != nil {
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
	if !within(SettleTime, pollTime/5, func() bool { return !leaf.Alive() }) {
		return fmt.Errorf("cgroup %s: not empty after the kill", leaf.dir)
	}
	return nil
}

func (c *cgroups) name() string { return Cgroup }

func (c *cgroups) hides() bool { return false }

func (c *cgroups) close() error { return nil }

func (c *cgroups) limit(wanted Limits, mounts mountinfo) Limits {
	c.limiter = newLimiter(wanted, c.dir, mounts)
	return c.limiter.limits
}

// start starts a command in a new cgroup.
func (c *cgroups) start(cmd *exec.Cmd, id string, before func() error) (Tree, error) {
	leaf, err := c.makeLimited(id)
	if leaf == nil {
		return nil, err // a nil *leaf would be a Tree that is not nil
	}
	if err != nil {
		return leaf, err
	}
	return leaf, leaf.more.apart(before != nil, leaf.toStart(cmd, before))
}

// makeLimited makes a cgroup with the limits of a command. The caller closes one that comes with an error.
func (c *cgroups) makeLimited(id string) (*leaf, error) {
	leaf, err := c.make(id)
	if err == nil {
		leaf.more, err = c.limiter.make(id, leaf)
	}
	return leaf, err
}

// controllers returns how many of the controllers that limit commands are enabled below a cgroup.
func controllers(dir string) (n int) {
	for _, r := range resources() {
		if enabledBelow(dir, r.controller) {
			n++
		}
	}
	return n
}

// toStart returns a function that starts a command in the cgroup, after before. The kernel creates the process there, so it is never
// outside.
func (l *leaf) toStart(cmd *exec.Cmd, before func() error) func() error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(l.held.Fd())
	return toStart(cmd, before)
}

// gone reports whether an error says that a cgroup or a process no longer exists.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ESRCH)
}
