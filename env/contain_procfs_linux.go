package env

import (
	"errors"
	"strings"
)

// procMount is what a new /proc has to have of the one that it covers.
type procMount struct {
	options string   // in the form of mount -o
	covered []string // where in it something else is mounted, relative to it
}

// findProc finds the visible mount of /proc in a text of proc_pid_mountinfo(5): id parent device root mountpoint options [tags] -
// type source superoptions.
func findProc(mountinfo string) (procMount, error) {
	var p procMount
	id := ""
	for line := range strings.Lines(mountinfo) {
		before, after, _ := strings.Cut(line, " - ")
		mount, fs := strings.Fields(before), strings.Fields(after)
		if len(mount) < 6 || len(fs) < 3 {
			return p, errors.New("not a line of mountinfo: " + plain(line))
		}
		point := unescapeMount(mount[4])
		switch {
		case point == "/proc": // the last one covers those before
			if id = ""; fs[0] == "proc" && mount[3] == "/" {
				id, p = mount[0], procMount{options: procOptions(mount[5], fs[2])}
			}
		case id != "" && mount[1] == id: // and not what is mounted in one of these, which comes with it
			p.covered = append(p.covered, strings.TrimPrefix(point, "/proc/"))
		}
	}
	if id == "" {
		return p, errors.New("what is mounted on /proc is not the kernel's")
	}
	return p, nil
}

// procOptions are those of the mount and, of those of the file system, which others report as well, the ones of proc(5).
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
