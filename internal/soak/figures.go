package soak

import (
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// Figures holds how much of each resource a process uses, by the resource's name. Resources that
// the system has no number for are missing.
type Figures map[string]int

// The figures that may rise. They are in bytes.
const (
	heap = "heap"
	rss  = "RSS"
)

// String returns the figures as one line.
func (f Figures) String() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if name == heap || name == rss {
			all = append(all, fmt.Sprintf("%s %.1f MiB", name, float64(f[name])/(1<<20)))
		} else {
			all = append(all, fmt.Sprintf("%d %s", f[name], name))
		}
	}
	return strings.Join(all, ", ")
}

// more describes the figures that are higher than before, except those of memory.
func (f Figures) more(before Figures) (what []string) {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if f[name] > before[name] && name != heap && name != rss {
			what = append(what, fmt.Sprintf("%d %s, %d before", f[name], name, before[name]))
		}
	}
	return what
}

// measure counts what the process uses now, after a collection. Temporary files are those below the
// directories.
func measure(dirs ...string) Figures {
	debug.FreeOSMemory() // collects as well
	runtime.GC()         // what finalizers have freed
	return count(dirs...)
}

// count counts without a collection.
func count(dirs ...string) Figures {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	f := Figures{heap: int(m.HeapAlloc), "goroutines": runtime.NumGoroutine(), "temporary files": len(filesIn(dirs))}
	f.ofSystem(dirs)
	return f
}

// filesIn returns what is below directories.
func filesIn(dirs []string) (names []string) {
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
			if err == nil && name != dir {
				names = append(names, name)
			}
			return nil // a file that has just been removed
		})
		if err != nil {
			names = append(names, err.Error())
		}
	}
	return names
}
