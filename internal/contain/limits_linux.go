package contain

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A limit of all processes of a command needs a controller. In version 2 of cgroups it is that of the command's own cgroup, if the
// controller is enabled there. In version 1 each controller may have a hierarchy of its own, and the command gets a cgroup in it.

// resource is something that a controller limits.
type resource struct {
	controller string
	value      func(*Limits) *int64
	v1, v2     []string // the files that take the limit; only the first one has to exist
}

func resources() []resource {
	return []resource{
		{"pids", func(l *Limits) *int64 { return &l.Processes }, []string{"pids.max"}, []string{"pids.max"}},
		{"memory", func(l *Limits) *int64 { return &l.Memory }, []string{"memory.limit_in_bytes", "memory.memsw.limit_in_bytes"},
			[]string{"memory.max", "memory.swap.max"}},
	}
}

// limiter limits commands by cgroups.
type limiter struct {
	limits Limits    // those that hold
	leaf   []setting // for a command's own cgroup
	groups []limited // version 1: where a command gets another cgroup, and what is set in it
}

// setting is a value for a file of a cgroup.
type setting struct {
	file, value string
	optional    bool
}

// limited is a cgroup of version 1 below which commands get their own.
type limited struct {
	cgroups
	settings []setting
}

// newLimiter returns a limiter for those of the wanted limits that controllers can set. dir is the cgroup of version 2 below which
// commands get their own, or "" if they get none.
func newLimiter(wanted Limits, dir string, mounts mountinfo) limiter {
	var l limiter
	for _, r := range resources() {
		value := *r.value(&wanted)
		if value <= 0 {
			continue
		}
		if dir != "" && enabledBelow(dir, r.controller) {
			l.leaf = append(l.leaf, r.settings(r.v2, value)...)
			*r.value(&l.limits) = value
			continue
		}
		if g, err := findLimited(r, value, mounts); err == nil {
			l.groups = append(l.groups, g)
			*r.value(&l.limits) = value
		}
	}
	return l
}

// settings returns what sets a limit. Swap counts as memory in version 1; in version 2 there is none.
func (r resource) settings(files []string, value int64) []setting {
	text := strconv.FormatInt(value, 10)
	list := []setting{{files[0], text, false}}
	for _, file := range files[1:] {
		if file == "memory.swap.max" {
			text = "0"
		}
		list = append(list, setting{file, text, true})
	}
	return list
}

// enabledBelow reports whether the cgroups below one of version 2 have a controller.
func enabledBelow(dir, controller string) bool {
	text, err := readProc(path.Join(dir, "cgroup.subtree_control"), make([]byte, 0, 128))
	return err == nil && slices.Contains(strings.Fields(string(text)), controller)
}

// findLimited returns the cgroup of this process in a hierarchy of version 1, if a limit can be set below it.
func findLimited(r resource, value int64, mounts mountinfo) (limited, error) {
	own, err := readProc("/proc/self/cgroup", make([]byte, 0, 512))
	if err != nil {
		return limited{}, err
	}
	list, err := mounts()
	if err != nil {
		return limited{}, err
	}
	dir := ownDirV1(list, string(own), r.controller)
	if dir == "" {
		return limited{}, fmt.Errorf("no cgroup of version 1 with %s", r.controller)
	}
	g := limited{cgroups{dir: dir, own: true}, r.settings(r.v1, value)}
	if err := unix.Faccessat(unix.AT_FDCWD, path.Join(dir, "tasks"), unix.W_OK, unix.AT_EACCESS); err != nil {
		return limited{}, &os.PathError{Op: "access", Path: dir, Err: err}
	}
	leaf, err := g.make(rand.Text())
	if err != nil {
		return limited{}, err
	}
	if err := errors.Join(leaf.set(g.settings), leaf.Close()); err != nil {
		return limited{}, err
	}
	g.removeEmpty()
	return g, nil
}

// ownDirV1 returns the directory of this process's cgroup with a controller of version 1, or "". The texts are of
// proc_pid_mountinfo(5) and proc_pid_cgroup(5).
func ownDirV1(mountinfo, own, controller string) string {
	for line := range strings.Lines(own) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3) // id:controllers:path
		if len(fields) != 3 || !slices.Contains(strings.Split(fields[1], ","), controller) {
			continue
		}
		for mount := range strings.Lines(mountinfo) {
			_, after, _ := strings.Cut(strings.TrimSuffix(mount, "\n"), " - cgroup ") // type source options
			_, options, _ := strings.Cut(after, " ")
			if !slices.Contains(strings.Split(options, ","), controller) {
				continue
			}
			if dir, ok := shownAt(mount, fields[2]); ok {
				return dir
			}
		}
	}
	return ""
}

// set writes settings to the cgroup's files.
func (l *leaf) set(settings []setting) error {
	for _, s := range settings {
		if err := l.write(s.file, s.value); err != nil && !s.optional { // swap need not be counted
			return err
		}
	}
	return nil
}

// make makes what a command's limits need besides its own cgroup, which is nil at a level without.
func (l limiter) make(id string, own *leaf) (more leaves, err error) {
	if own != nil {
		if err := own.set(l.leaf); err != nil {
			return nil, err
		}
	}
	for _, g := range l.groups {
		leaf, err := g.make(id)
		if err != nil {
			return more, err
		}
		more = append(more, leaf)
		if err := leaf.set(g.settings); err != nil {
			return more, err
		}
	}
	return more, nil
}

// leaves holds a command's cgroups of version 1.
type leaves []*leaf

// within calls f while the calling thread, and so what it starts, is in the cgroups. It must be a thread that serves nothing else.
func (v leaves) within(f func() error) error {
	const me = "0" // the calling thread
	var err error
	var back []int // opened before f, which may restrict the thread
	for _, l := range v {
		fd, openErr := unix.Open(path.Join(path.Dir(l.dir), "tasks"), unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err = errors.Join(err, openErr); openErr == nil {
			back = append(back, fd)
		}
		err = errors.Join(err, l.write("tasks", me))
	}
	if err == nil {
		err = f()
	}
	for _, fd := range back {
		_, _ = unix.Write(fd, []byte(me)) // if it fails, Close says so
		_ = unix.Close(fd)
	}
	return err
}

// apart calls f like within, on a thread of its own if f or the cgroups need one.
func (v leaves) apart(necessary bool, f func() error) error {
	return apart(necessary || len(v) > 0, func() error { return v.within(f) })
}

// Close removes the cgroups. All must be empty.
func (v leaves) Close() error {
	var errs []error
	for _, l := range v {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// reached returns what the counters of cgroups say about their limits.
func (v leaves) reached() (r Reached) {
	for _, l := range v {
		r.Processes = r.Processes || l.counted("pids.events", "max")
		r.Memory = r.Memory || l.counted("memory.events", "oom_kill") || l.counted("memory.oom_control", "oom_kill")
	}
	return r
}

// counted reports whether a counter in one of the cgroup's files is more than 0.
func (l *leaf) counted(file, counter string) bool {
	text, err := readProc(path.Join(l.dir, file), make([]byte, 0, 256))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, counter+" "); ok {
			return strings.TrimSpace(value) != "0"
		}
	}
	return false
}

// spareNumbers is the number of process ids that the kernel does not use again, below its limit.
const spareNumbers = 300

// pidMaxOf returns the kernel.pid_max with which a PID namespace has at most about so many processes, or 0 if namespaces have no
// limit of their own. Before Linux 6.14 there is only one for the whole machine.
func pidMaxOf(processes int64) int64 {
	var name unix.Utsname
	if processes <= 0 || processes > 1<<22-spareNumbers || unix.Uname(&name) != nil || !atLeast(unix.ByteSliceToString(name.Release[:]), 6, 14) {
		return 0
	}
	return processes + spareNumbers
}

// atLeast reports whether a kernel release such as 6.18.44-generic is not older than a version.
func atLeast(release string, major, minor int) bool {
	parts := strings.FieldsFunc(release, func(r rune) bool { return r < '0' || r > '9' })
	if len(parts) < 2 {
		return false
	}
	a, errA := strconv.Atoi(parts[0])
	b, errB := strconv.Atoi(parts[1])
	return errA == nil && errB == nil && (a > major || a == major && b >= minor)
}
