package soak

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"runtime/debug"
)

// Figures count what a process uses at a moment. What the system does not tell is 0.
type Figures struct {
	Heap, RSS                                                  uint64 // bytes
	Goroutines, Descriptors, Processes, Files, Cgroups, Mounts int
}

// String returns the figures as one line.
func (f Figures) String() string {
	return fmt.Sprintf("heap %.1f MiB, RSS %.1f MiB, %d goroutines, %d descriptors, %d processes, %d temporary files, %d cgroups, %d mounts",
		mib(f.Heap), mib(f.RSS), f.Goroutines, f.Descriptors, f.Processes, f.Files, f.Cgroups, f.Mounts)
}

func mib(n uint64) float64 { return float64(n) / (1 << 20) }

// more describes the counts that are higher than before, except those of memory.
func (f Figures) more(before Figures) (what []string) {
	for _, c := range []struct {
		name     string
		now, was int
	}{
		{"goroutines", f.Goroutines, before.Goroutines}, {"descriptors", f.Descriptors, before.Descriptors},
		{"processes", f.Processes, before.Processes},
		{"temporary files", f.Files, before.Files}, {"cgroups", f.Cgroups, before.Cgroups},
		{"mounts", f.Mounts, before.Mounts},
	} {
		if c.now > c.was {
			what = append(what, fmt.Sprintf("%d %s, %d before", c.now, c.name, c.was))
		}
	}
	return what
}

// measure counts what the process uses now. Files are those below the directories.
func measure(dirs ...string) Figures {
	debug.FreeOSMemory() // collects as well
	runtime.GC()         // what finalizers have freed
	f := count(dirs...)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	f.Heap = m.HeapAlloc
	return f
}

// count counts without a collection.
func count(dirs ...string) Figures {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	f := Figures{Heap: m.HeapAlloc, Goroutines: runtime.NumGoroutine()}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err == nil && name != dir {
				f.Files++
			}
			return nil // a file that has just been removed
		})
		if err != nil {
			f.Files++
		}
	}
	f.ofSystem(dirs)
	return f
}
