package env_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
)

var captureMiB = flag.Int("capture.mib", 300, "how many MiB of output TestD5_PeakMemory captures")

// maxGrowth returns how much the whole process's memory may grow, in bytes, while it captures any
// amount of output.
func maxGrowth() int64 {
	const limit = 16 << 20
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race",
		Value: "true"}) {
		return 4 * limit // the race detector adds memory of its own
	}
	return limit
}

// The peak is the kernel's figure for the whole process. The test uses a new process, so that other
// tests do not affect it.
func TestD5_PeakMemory(t *testing.T) {
	const child = "CAPTURE_PEAK_MEMORY"
	if os.Getenv(child) != "" {
		fmt.Printf("grown by %d bytes\n", growth(t))
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestD5_PeakMemory$", fmt.Sprintf("-capture.mib=%d", *captureMiB))
	cmd.Env = append(os.Environ(), child+"=1")
	out, err := cmd.CombinedOutput()
	var grown int64
	if _, at, found := strings.Cut(string(out), "grown by "); err != nil || !found {
		t.Fatalf("%v: %s", err, out)
	} else if _, err := fmt.Sscan(at, &grown); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MiB of output raised the peak by %.1f MiB", *captureMiB, float64(grown)/(1<<20))
	if limit := maxGrowth(); grown > limit {
		t.Errorf("the peak rose by %d bytes, want at most %d", grown, limit)
	}
}

// growth captures output and returns the growth of the process's peak memory.
func growth(t *testing.T) int64 {
	t.Helper()
	l := newLocal(t, t.TempDir(), env.LocalOptions{})
	if _, err := env.Run(t.Context(), l, env.Command{Script: "true", Output: new(capture.Buffer).Write},
		0); err != nil {
		t.Fatal(err) // loads what the first command needs
	}
	before := memory(t, "VmRSS")
	size := int64(*captureMiB) << 20
	var c capture.Buffer
	script := fmt.Sprintf("yes | head -c %d", size)
	result, err := env.Run(t.Context(), l, env.Command{Script: script, Output: c.Write}, env.MaxTimeout)
	if err != nil || result.Code != 0 || result.TimedOut || c.Total() != size {
		t.Fatalf("%+v, %v, %d of %d bytes", result, err, c.Total(), size)
	}
	return memory(t, "VmHWM") - before
}

// Before it is collected, garbage would take as much memory as the output that is kept.
func TestD5_ReadingMakesNoGarbage(t *testing.T) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{})
	cost := func(size int) uint64 {
		return allocated(func() {
			cmd := env.Command{Script: fmt.Sprintf("head -c %d /dev/zero", size), Output: func(int, []byte) {}}
			if result, err := env.Run(t.Context(), l, cmd, env.MaxTimeout); err != nil || result.Code != 0 {
				t.Errorf("%+v, %v", result, err)
			}
		})
	}
	little, much := cost(1<<10), cost(256<<20) // 8192 reads and more
	if much > little+128<<10 {
		t.Errorf("256 MiB of output allocate %d bytes, 1 KiB allocates %d", much, little)
	}
}

// allocated runs f and returns the number of bytes it allocated.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// memory returns a size from proc_pid_status(5) in bytes.
func memory(t *testing.T, name string) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	var kB int64
	_, at, found := strings.Cut(string(status), "\n"+name+":")
	if _, err := fmt.Sscan(at, &kB); !found || err != nil {
		t.Fatalf("%s: %v in %s", name, err, status)
	}
	return kB << 10
}
