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
	"sync"
	"syscall"
	"time"

	"github.com/attractor-go/attractor/internal/filelock"
)

// A host is a process that runs commands. If they may outlive it, it holds a lock on a file that
// their marks name. The kernel releases the lock when the host ends, in whatever way. Unlike a
// process id, a lock means the same in every PID namespace that shares the file. If the file exists
// and is not locked, the host has ended without ending its commands. If there is no file, nothing
// is known of the host.
//
// The file's name also tells the host's namespaces. Who is in others, such as a container that
// shares the directory, may see none of the host's processes or not their environments, and would
// remove the file as if none were left.

// host is one environment, as the marks of its commands name it.
type host struct {
	id string

	mu   sync.Mutex
	lock *os.File // nil until there is a command
	name string   // of the lock's file
	done bool
}

// The suffixes of the lock files' names. A file gets hostSuffix when it is locked: between its
// making and its locking, a search for abandoned hosts would take its host for one.
const (
	hostSuffix    = ".host"
	newHostSuffix = ".new"
)

// hostDirs returns the directories in which this user's locks may be: the login's runtime
// directory, and those that do not depend on environment variables, so that a later host finds the
// locks.
func hostDirs() []string {
	id := strconv.Itoa(os.Geteuid())
	dirs := []string{"/run/user/" + id + "/attractor", "/tmp/attractor-" + id, "/dev/shm/attractor-" + id}
	if given := path.Join(os.Getenv("XDG_RUNTIME_DIR"), "attractor"); path.IsAbs(given) && given != dirs[0] {
		dirs = append([]string{given}, dirs...)
	}
	return dirs
}

// ownDir makes a directory that only this user can write to, and reports whether there is one.
func ownDir(name string) bool {
	if err := os.Mkdir(name, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return false
	}
	var stat syscall.Stat_t
	err := syscall.Lstat(name, &stat)
	return err == nil && stat.Mode&syscall.S_IFMT == syscall.S_IFDIR && int(stat.Uid) == os.Geteuid() &&
		stat.Mode&0o022 == 0
}

// hold takes the host's lock once. Without a usable directory the host has no lock, and nobody ends
// its processes after it.
func (h *host) hold() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lock != nil || h.done {
		return
	}
	for _, dir := range hostDirs() {
		if !ownDir(dir) {
			continue
		}
		name := path.Join(dir, hostFile(h.id, namespaces()))
		if f, err := lockNew(name); err == nil {
			h.lock, h.name = f, name
			return
		}
	}
}

// namespaces returns the numbers of the PID and the user namespace of this process, or "" if they
// are unknown.
var namespaces = sync.OnceValue(func() string {
	var ids []string
	for _, kind := range []string{"pid", "user"} {
		link, err := os.Readlink("/proc/self/ns/" + kind)
		id, ok := strings.CutPrefix(link, kind+":[")
		if err != nil || !ok {
			return ""
		}
		ids = append(ids, strings.TrimSuffix(id, "]"))
	}
	return strings.Join(ids, "-")
})

// firstNamespaces are those in which the machine starts, with the numbers that Linux gives them.
// All other ones are inside them.
const firstNamespaces = "4026531836-4026531837"

// seesAll reports whether a process in some namespaces sees all processes of a host in other ones.
func seesAll(own, hosts string) bool { return own == hosts || own == firstNamespaces }

// hostFile returns the name of a host's lock file, without a directory.
func hostFile(id, namespaces string) string {
	if namespaces != "" {
		id += "." + namespaces
	}
	return id + hostSuffix
}

// parseHostFile returns what hostFile was given. It reports false for any other file.
func parseHostFile(name string) (id, namespaces string, ok bool) {
	name, ok = strings.CutSuffix(name, hostSuffix)
	id, namespaces, _ = strings.Cut(name, ".")
	return id, namespaces, ok && len(id) == len(rand.Text()) // a shorter id could be part of another one
}

// lockNew makes the lock file of a host and locks it.
func lockNew(name string) (*os.File, error) {
	f, err := os.OpenFile(strings.TrimSuffix(name, hostSuffix)+newHostSuffix, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err = filelock.TryLock(f, filelock.Exclusive); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()), f.Close())
	}
	return f, nil
}

// release releases the lock, and removes its file if no command can be left.
func (h *host) release(empty bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done = true
	if h.lock == nil {
		return nil
	}
	var err error
	if empty {
		err = os.Remove(h.name)
	}
	err = errors.Join(err, h.lock.Close())
	h.lock = nil
	return err
}

func newHost() *host { return &host{id: rand.Text()} }

// abandoned is a host that has ended without ending its commands. We hold the lock on its file.
type abandoned struct {
	id   string
	file *os.File
}

// findAbandoned locks and returns the files of hosts that have ended, except those in whose
// commands this process runs, and those of whose processes one in these namespaces does not see
// all: it does not even touch their locks, so that who sees them finds them free. A host is alive
// if its file is locked in any of the directories.
func findAbandoned(dirs []string, outer, namespaces string) (list []abandoned, err error) {
	var errs []error
	living := map[string]bool{}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil || !ownDir(dir) {
			continue // missing, or not ours
		}
		for _, e := range entries {
			id, inside, ok := parseHostFile(e.Name())
			if !ok || !e.Type().IsRegular() || slices.Contains(markedHosts(outer), id) || !seesAll(namespaces, inside) {
				continue
			}
			f, locked, err := lockDir(path.Join(dir, e.Name()), filelock.Exclusive)
			errs = append(errs, err)
			switch {
			case locked:
				list = append(list, abandoned{id, f})
			case err == nil:
				living[id] = true
			}
		}
	}
	list = slices.DeleteFunc(list, func(a abandoned) bool {
		if living[a.id] {
			errs = append(errs, a.file.Close())
		}
		return living[a.id]
	})
	return list, errors.Join(errs...)
}

// markedHosts returns the ids of the hosts that a mark names.
func markedHosts(mark string) (ids []string) {
	for entry := range strings.SplitSeq(mark, "/") {
		if id, _, ok := strings.Cut(entry, "."); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// EndAbandoned ends what the commands of hosts that have ended left running, and returns a line for
// each process.
func (v Level) EndAbandoned(grace time.Duration) (lines []string, err error) {
	hosts, err := findAbandoned(hostDirs(), v.outer, namespaces())
	errs := []error{err}
	for _, h := range hosts {
		ended, err := h.end(grace)
		lines, errs = append(lines, ended...), append(errs, err)
	}
	if c, ok := v.mechanism.(*cgroups); ok { // processes that have cleared their environment
		ended, err := c.endAbandoned()
		lines, errs = append(lines, ended...), append(errs, err)
	}
	return lines, errors.Join(errs...)
}

// end ends the host's processes with TERM and, after the grace time, KILL. It removes the file when
// none is left.
func (h abandoned) end(grace time.Duration) (lines []string, err error) {
	defer func() { err = errors.Join(err, h.file.Close()) }()
	tree := group{mark: h.id + "."}
	lines = tree.Left()
	if err := End(tree, ended(), grace, SettleTime); err != nil {
		return lines, fmt.Errorf("processes of a host that has ended: %w", err)
	}
	if err = os.Remove(h.file.Name()); errors.Is(err, os.ErrNotExist) {
		err = nil // the host has ended in order after we had opened its file
	}
	return lines, err
}

// ended returns a closed channel: whoever started a tree has waited for its main process.
func ended() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
