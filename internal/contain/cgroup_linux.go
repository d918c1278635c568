package contain

import (
	"crypto/rand"
	"errors"
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

	settings []setting // of each command's cgroup
}

// findCgroups returns the level in the first directory in which cgroups can be made, or an error
// that says why none works. With proof a trial is not enough.
func findCgroups(shell string, mounts mountinfo, proof bool) (*cgroups, error) {
	list, err := mounts()
	if err != nil {
		return nil, err
	}
	own, err := readProc("/proc/self/cgroup")
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

// cgroupDirs returns the directories to try. For each mount of cgroup version 2 these are the
// cgroup of this process and, if both are in the same user's slice, the slice that was delegated to
// the user. Limits of a cgroup hold for those below it. No directory further up is tried, so that
// no command escapes the limits. Those below which commands can be limited come first.
func cgroupDirs(mounts []mount, own string, uid int) []string {
	at := ownCgroup(own)
	if at == "" {
		return nil // only version 1
	}
	dirs := mountedDirs(mounts, at)
	id := strconv.Itoa(uid)
	if slice := "/user.slice/user-" + id + ".slice/"; strings.HasPrefix(at, slice) {
		dirs = append(dirs, mountedDirs(mounts, slice+"user@"+id+".service")...)
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return len(controllers(b)) - len(controllers(a)) })
	return dirs
}

// ownCgroup returns the path of the process in the hierarchy of version 2, or "" if there is none.
// The text is of proc_pid_cgroup(5).
func ownCgroup(text string) (at string) {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok { // the only hierarchy of version 2
			at = rest
		}
	}
	return at
}

// mountedDirs returns the directories that show a path of the hierarchy, one for each mount that
// has it.
func mountedDirs(mounts []mount, hierarchyPath string) (dirs []string) {
	for _, m := range mounts {
		rest, ok := strings.CutPrefix(hierarchyPath, strings.TrimSuffix(m.root, "/"))
		if m.kind != "cgroup2" || !ok || rest != "" && rest[0] != '/' {
			continue
		}
		if slices.Contains(strings.Split(rest, "/"), "..") {
			continue // outside this process's cgroup namespace
		}
		if dir := path.Join(m.point, rest); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
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

// probe makes a cgroup and runs a command in it.
func (c *cgroups) probe(shell string) error {
	leaf, err := c.make(rand.Text())
	if err != nil {
		return err
	}
	cmd := exec.Command(shell, "-c", "echo ok; read -r x")
	err = probe(cmd, func() (Tree, error) { return leaf, leaf.toStart(cmd, nil)() })
	return errors.Join(err, leaf.Close())
}

func (c *cgroups) name() string { return Cgroup }

func (c *cgroups) hides() bool { return false }

func (c *cgroups) close() error { return nil }

func (c *cgroups) limit(wanted Limits) (limits Limits) {
	limits, c.settings = limitsBelow(c.dir, wanted)
	return limits
}

// start starts a command in a new cgroup.
func (c *cgroups) start(cmd *exec.Cmd, id string, before func() error) (Tree, error) {
	leaf, err := c.makeLimited(id)
	if err != nil {
		return nil, err
	}
	return leaf, apart(before != nil, leaf.toStart(cmd, before))
}

// makeLimited makes a cgroup with the limits of a command.
func (c *cgroups) makeLimited(id string) (*leaf, error) {
	leaf, err := c.make(id)
	if err != nil {
		return nil, err
	}
	if err := leaf.set(c.settings); err != nil {
		return nil, errors.Join(err, leaf.Close())
	}
	return leaf, nil
}

// toStart returns a function that starts a command in the cgroup, after before. The kernel creates
// the process there, so it is never outside.
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
