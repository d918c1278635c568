package contain

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// setting is a value for a file of a cgroup.
type setting struct {
	file, value string
	optional    bool
}

// limitsBelow returns those of the wanted limits that hold for the cgroups below one, because their
// controllers are enabled there, and what sets them in each.
func limitsBelow(dir string, wanted Limits) (limits Limits, settings []setting) {
	enabled := controllers(dir)
	if wanted.Processes > 0 && slices.Contains(enabled, "pids") {
		limits.Processes = wanted.Processes
		settings = append(settings, setting{file: "pids.max", value: strconv.FormatInt(wanted.Processes, 10)})
	}
	if wanted.Memory > 0 && slices.Contains(enabled, "memory") {
		limits.Memory = wanted.Memory
		settings = append(settings,
			setting{file: "memory.max", value: strconv.FormatInt(wanted.Memory, 10)},
			setting{file: "memory.swap.max", value: "0", optional: true}) // swap need not be counted
	}
	return limits, settings
}

// controllers returns those of the controllers that limit commands that are enabled below a cgroup.
func controllers(dir string) []string {
	text, err := readProc(path.Join(dir, "cgroup.subtree_control"))
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(strings.Fields(string(text)), func(name string) bool {
		return name != "pids" && name != "memory"
	})
}

// set writes settings to the cgroup's files.
func (l *leaf) set(settings []setting) error {
	for _, s := range settings {
		if err := l.write(s.file, s.value); err != nil && !s.optional {
			return err
		}
	}
	return nil
}

// Reached returns what the cgroup's counters say.
func (l *leaf) Reached() Reached {
	return Reached{Processes: l.counted("pids.events", "max"), Memory: l.counted("memory.events", "oom_kill")}
}

// counted reports whether a counter in one of the cgroup's files is more than 0.
func (l *leaf) counted(file, counter string) bool {
	text, err := readProc(path.Join(l.dir, file))
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

// pidMaxOf returns the kernel.pid_max with which a PID namespace has at most about so many
// processes, or 0 if namespaces have no limit of their own. Before Linux 6.14 there is only one for
// the whole machine.
func pidMaxOf(processes int64) int64 {
	var name unix.Utsname
	if processes <= 0 || processes > 1<<22-spareNumbers || unix.Uname(&name) != nil ||
		!atLeast(unix.ByteSliceToString(name.Release[:]), 6, 14) {
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
