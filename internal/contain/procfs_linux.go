package contain

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mount holds a line of proc_pid_mountinfo(5).
type mount struct {
	id, parent, device, root, point, options string
	shared                                   bool // mounts and unmounts on it appear in other namespaces too
	kind, super                              string
}

// parseMounts parses a text of proc_pid_mountinfo(5): id parent device root mountpoint options
// [tags] - type source superoptions.
func parseMounts(mountinfo string) ([]mount, error) {
	var list []mount
	for line := range strings.Lines(mountinfo) {
		before, after, _ := strings.Cut(line, " - ")
		f, fs := strings.Fields(before), strings.Fields(after)
		if len(f) < 6 || len(fs) < 3 {
			return nil, errors.New("not a line of mountinfo: " + oneLine(line))
		}
		list = append(list, mount{
			id: f[0], parent: f[1], device: f[2], root: unescapeMount(f[3]), point: unescapeMount(f[4]), options: f[5],
			kind: fs[0], super: fs[2],
			shared: slices.ContainsFunc(f[6:], func(tag string) bool { return strings.HasPrefix(tag, "shared:") }),
		})
	}
	return list, nil
}

// procPlace is a directory on which a procfs is mounted, so that processes can be seen there.
type procPlace struct {
	point string
	depth int    // how many mounts are stacked there
	on    string // the mount point below them, if that mount is shared
}

// procMounts describes what a new /proc inherits from the one it replaces, and where else a procfs
// is mounted.
type procMounts struct {
	options string   // of /proc, as mount -o takes them
	covered []string // paths in it where something else is mounted, relative to it
	places  []procPlace
}

// findProc returns the mounts of procfs in a list, /proc first.
func findProc(list []mount) (procMounts, error) {
	p := procMounts{places: []procPlace{{point: "/proc"}}}
	byID := make(map[string]mount, len(list))
	id := "" // of the visible /proc
	for _, m := range list {
		byID[m.id] = m
		switch {
		case m.point == "/proc": // the last one covers the others
			if id, p.covered = "", nil; wholeProc(m) {
				id, p.options = m.id, procOptions(m.options, m.super)
			}
		case id != "" && m.parent == id: // mounts inside these come along
			p.covered = append(p.covered, strings.TrimPrefix(m.point, "/proc/"))
		case wholeProc(m) && !slices.ContainsFunc(p.places,
			func(other procPlace) bool { return other.point == m.point }):
			p.places = append(p.places, procPlace{point: m.point})
		}
	}
	if id == "" {
		return p, errors.New("the file system on /proc is not procfs")
	}
	for i := range p.places {
		p.places[i].countMounts(list, byID)
	}
	return p, nil
}

// countMounts counts the mounts of the place from the lowest procfs up.
func (p *procPlace) countMounts(list []mount, byID map[string]mount) {
	for _, m := range list {
		if m.point != p.point || p.depth == 0 && !wholeProc(m) {
			continue
		}
		if p.depth++; p.depth == 1 && byID[m.parent].shared {
			p.on = byID[m.parent].point
		}
	}
}

// wholeProc reports whether a mount shows processes. One that was bound from inside a procfs does
// not.
func wholeProc(m mount) bool { return m.kind == "proc" && m.root == "/" }

// procOptions returns the options of the mount, with those options of the file system that belong
// to proc(5).
func procOptions(mount, super string) string {
	options := []string{mount}
	for option := range strings.SplitSeq(super, ",") {
		switch name, _, _ := strings.Cut(option, "="); name {
		case "hidepid", "gid", "subset":
			options = append(options, option)
		}
	}
	return strings.Join(options, ",")
}

// mountinfo returns the mounts of this process.
type mountinfo func() ([]mount, error)

// readMounts reads a list of mounts from the kernel.
func readMounts(name string) ([]mount, error) {
	text, err := readProc(name)
	if err != nil {
		return nil, err
	}
	return parseMounts(string(text))
}

func readMountinfo() ([]mount, error) { return readMounts("/proc/self/mountinfo") }

// ownMounts returns the calling thread's mounts. The working directory must be the host's /proc.
func ownMounts() ([]mount, error) { return readMounts("thread-self/mountinfo") }

// isolatedProc returns the mounts of procfs of the calling thread, which has mounts of its own, and
// keeps changes to them from the host's. The host's /proc becomes the thread's working directory,
// by which it is reached once it is no longer mounted.
func isolatedProc() (procMounts, error) {
	if err := unix.Chdir("/proc"); err != nil {
		return procMounts{}, os.NewSyscallError("chdir", err)
	}
	list, err := ownMounts()
	if err != nil {
		return procMounts{}, err
	}
	proc, err := findProc(list)
	if err != nil {
		return procMounts{}, err
	}
	return proc, proc.isolate()
}

// isolate keeps changes to procfs mounts, and to mounts in them, from the host's mounts. A mount
// that holds a procfs and shares its changes only receives changes from then on. All others keep
// their propagation, for commands to use.
func (p procMounts) isolate() error {
	for _, place := range p.places {
		if err := unix.Mount("", place.point, "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("stop mount propagation of %s: %w", place.point, err)
		}
		if place.on == "" {
			continue
		}
		if err := unix.Mount("", place.on, "", unix.MS_SLAVE, ""); err != nil {
			return fmt.Errorf("stop mount propagation of %s: %w", place.on, err)
		}
	}
	list, err := ownMounts()
	if err != nil {
		return err
	}
	for _, m := range list {
		above := slices.ContainsFunc(list, func(other mount) bool { return wholeProc(other) && other.parent == m.id })
		if m.shared && (above || wholeProc(m)) { // such as a mount that another one covers
			return fmt.Errorf("mount propagation of %s cannot be stopped", m.point)
		}
	}
	return nil
}

// replace puts the new /proc, which is mounted on top of the old one, in the place of every procfs.
// Afterwards none of the old ones can be uncovered. It needs Linux 5.2.
func (p procMounts) replace() error {
	for _, name := range p.covered {
		if err := unix.Mount(name, "/proc/"+name, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("keep the mount on /proc/%s: %w", name, err)
		}
	}
	for _, place := range slices.Backward(p.places) { // the new one is moved last
		if err := place.replace(); err != nil {
			return err
		}
	}
	return p.check()
}

func (p procPlace) replace() error {
	depth := p.depth
	if p.point == "/proc" {
		depth++
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, "/proc", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return os.NewSyscallError("open_tree /proc", err)
	}
	for range depth {
		if err := unix.Unmount(p.point, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			return errors.Join(fmt.Errorf("detach %s: %w", p.point, err), unix.Close(fd))
		}
	}
	err = unix.MoveMount(fd, "", unix.AT_FDCWD, p.point, unix.MOVE_MOUNT_F_EMPTY_PATH)
	return errors.Join(os.NewSyscallError("move_mount to "+p.point, err), unix.Close(fd))
}

// check returns an error if a procfs other than the one at /proc can be seen or uncovered.
func (p procMounts) check() error {
	var stat unix.Stat_t
	if err := unix.Stat("/proc", &stat); err != nil {
		return os.NewSyscallError("stat /proc", err)
	}
	device := strconv.Itoa(int(unix.Major(stat.Dev))) + ":" + strconv.Itoa(int(unix.Minor(stat.Dev)))
	list, err := ownMounts()
	if err != nil {
		return err
	}
	for _, m := range list {
		if wholeProc(m) && m.device != device {
			return fmt.Errorf("the procfs on %s shows the host's processes and cannot be detached", m.point)
		}
	}
	return nil
}
