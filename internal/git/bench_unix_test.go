//go:build unix

package git_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/git"
)

// BenchmarkK2_Look reports the processor time of looking at a repository of 1,500 files in 60
// directories, also as a multiple of running git status and git log.
func BenchmarkK2_Look(b *testing.B) {
	w := newTree(b)
	for i := range 1500 {
		w.put(fmt.Sprintf("dir%d/sub%d/file%d.go", i%10, i%60, i), fmt.Sprint("content ", i))
	}
	w.put(".gitignore", "*.log\nbuild/\n")
	for i := range 12 {
		w.put("last", fmt.Sprint(i))
		w.commit(fmt.Sprint("commit ", i))
	}
	w.git("gc", "-q")
	w.put("untracked", "x")
	e, err := env.NewLocal(w.dir, env.LocalOptions{Containment: env.ContainGroup})
	w.must(err)
	defer func() { w.must(e.Close()) }()
	b.ReportAllocs()
	var ours, gits time.Duration
	for b.Loop() {
		before := used(b, syscall.RUSAGE_SELF)
		s := git.Look(b.Context(), e)
		ours += used(b, syscall.RUSAGE_SELF) - before
		if s.Untracked != 1 || len(s.Subjects) != 10 {
			b.Fatalf("%+v", s)
		}
		b.StopTimer()
		before = used(b, syscall.RUSAGE_CHILDREN)
		w.git("--no-optional-locks", "status", "--porcelain", "--untracked-files=all")
		w.git("log", "-10", "--format=%s")
		gits += used(b, syscall.RUSAGE_CHILDREN) - before
		b.StartTimer()
	}
	b.ReportMetric(float64(ours.Microseconds())/1e3/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(ours)/float64(gits), "x-git")
}

// used returns the processor time of this process or of its children.
func used(b *testing.B, who int) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
