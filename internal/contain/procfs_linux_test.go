package contain

import (
	"slices"
	"strings"
	"testing"
)

func parsedProc(mountinfo string) (procMounts, error) {
	list, err := parseMounts(mountinfo)
	if err != nil {
		return procMounts{}, err
	}
	return findProc(list)
}

func TestD4_NewProcKeepsOptions(t *testing.T) {
	const (
		root  = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
		plain = "22 27 0:21 / /proc rw,nosuid,relatime shared:5 - proc proc rw\n"
	)
	for name, c := range map[string]struct {
		mounts, options string
		covered         []string
	}{
		"plain":         {root + plain, "rw,nosuid,relatime", nil},
		"listed before": {plain + root, "rw,nosuid,relatime", nil},
		"own options": {root + "22 27 0:21 / /proc rw - proc proc rw,seclabel,hidepid=invisible,gid=7,subset=pid\n",
			"rw,hidepid=invisible,gid=7,subset=pid", nil},
		"covered twice": {root + plain + "23 22 0:30 / /proc ro - proc proc rw\n", "ro", nil},
		"parts in it": {root + plain +
			"30 22 0:21 /sys /proc/sys ro - proc proc rw\n31 22 0:9 /null /proc/kcore rw - devtmpfs d rw\n",
			"rw,nosuid,relatime", []string{"sys", "kcore"}},
		"deeper": {root + plain +
			"30 22 0:21 / /proc/sys/fs/x rw - autofs a rw\n31 30 0:9 / /proc/sys/fs/x rw - binfmt_misc b rw\n",
			"rw,nosuid,relatime", []string{"sys/fs/x"}},
		"a blank": {root + plain + `30 22 0:21 / /proc/a\040b rw - tmpfs a rw` + "\n", "rw,nosuid,relatime",
			[]string{"a b"}},
		"of a lower one": {root + plain +
			"30 22 0:21 /sys /proc/sys ro - proc proc rw\n31 22 0:30 / /proc rw - proc proc rw\n", "rw", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parsedProc(c.mounts)
			if err != nil || got.options != c.options || !slices.Equal(got.covered, c.covered) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	for name, mounts := range map[string]string{
		"none":        root,
		"not proc":    root + "22 27 0:21 / /proc rw - tmpfs t rw\n",
		"covered":     root + plain + "23 22 0:30 / /proc rw - fuse f rw\n",
		"a part":      root + "22 27 0:21 /sys /proc rw - proc proc rw\n",
		"no mounts":   "22 27 0:21 /proc rw\n",
		"of its type": strings.Replace(root+plain, " - proc proc rw", " - proc", 1),
	} {
		if got, err := parsedProc(mounts); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Every procfs is found, with the mounts to unmount and the mounts that must not show that.
func TestI4_EveryProcfsIsFound(t *testing.T) {
	const (
		root   = "27 1 254:0 / / rw shared:1 - ext4 /dev/vda rw\n"
		own    = "22 27 0:21 / /proc rw shared:5 - proc proc rw\n"
		chroot = "40 27 0:40 / /srv rw master:3 - tmpfs t rw\n41 40 0:41 / /srv/proc rw - proc proc rw\n"
	)
	for name, c := range map[string]struct {
		mounts string
		want   []procPlace
	}{
		"one":          {root + own, []procPlace{{"/proc", 1, "/"}}},
		"not shared":   {strings.Replace(root, "shared:1", "master:1", 1) + own, []procPlace{{"/proc", 1, ""}}},
		"two on /proc": {root + own + "23 22 0:30 / /proc rw - proc proc rw\n", []procPlace{{"/proc", 2, "/"}}},
		"below it": {root + "21 27 0:9 / /proc rw - tmpfs t rw\n22 21 0:21 / /proc rw - proc proc rw\n",
			[]procPlace{{"/proc", 1, ""}}},
		"in a chroot":  {root + own + chroot, []procPlace{{"/proc", 1, "/"}, {"/srv/proc", 1, ""}}},
		"a part of it": {root + own + "30 27 0:21 /sys /srv/sys ro - proc proc rw\n", []procPlace{{"/proc", 1, "/"}}},
		"covered there": {root + own + chroot + "42 41 0:9 / /srv/proc rw - tmpfs t rw\n",
			[]procPlace{{"/proc", 1, "/"}, {"/srv/proc", 2, ""}}},
		"a chroot first": {root + chroot + own, []procPlace{{"/proc", 1, "/"}, {"/srv/proc", 1, ""}}},
	} {
		if got, err := parsedProc(c.mounts); err != nil || !slices.Equal(got.places, c.want) {
			t.Errorf("%s: %+v, %v", name, got.places, err)
		}
	}
}
