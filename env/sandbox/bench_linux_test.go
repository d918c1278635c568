package sandbox_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
)

// BenchmarkL5_Sandbox reports the processor time of a command at the level workspace as a ratio to
// that of the same command without a sandbox, and the mounts that it sees. The time of bubblewrap's
// processes is known only by a cgroup.
func BenchmarkL5_Sandbox(b *testing.B) {
	compare(b, sandbox.Options{}, "true", "git status", "go vet .")
}

// BenchmarkU14_Observe is the same for commands that only read.
func BenchmarkU14_Observe(b *testing.B) {
	compare(b, sandbox.Options{Level: sandbox.Observe, Covered: usualSecrets}, "true", "cat m.go", "ls -l",
		"grep -rn Print .", "git status", "git log -1")
}

// usualSecrets are as many as a session covers.
func usualSecrets() (list []string) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	for _, name := range []string{".aws", ".docker/config.json", ".kube/config", ".cargo/credentials",
		".config/gh/hosts.yml", ".config/gcloud", ".ssh", ".gnupg", ".azure", ".npmrc",
		".netrc", ".pypirc", ".git-credentials", ".pgpass", ".bash_history", ".zsh_history", ".local/share/keyrings",
		".mozilla", ".config/google-chrome", ".codex/auth.json", ".config/op"} {
		list = append(list, filepath.Join(home, name), filepath.Join(home, name+"-2"))
	}
	return list
}

func compare(b *testing.B, o sandbox.Options, scripts ...string) {
	group := newAccount(b)
	dir := b.TempDir()
	write(b, filepath.Join(dir, "go.mod"), "module example.com/m\n\ngo 1.24\n")
	write(b, filepath.Join(dir, "m.go"), "package m\n\nimport \"fmt\"\n\nfunc Print() { fmt.Println() }\n")
	repository(b, dir)
	outside, err := env.NewLocal(dir, env.LocalOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := outside.Close(); err != nil {
			b.Error(err)
		}
	})
	inside := newBox(b, dir, o, env.LocalOptions{})
	mounts, err := strconv.ParseFloat(strings.TrimSpace(inside.succeeds(b, "grep -c . /proc/self/mountinfo")), 64)
	if err != nil {
		b.Fatal(err)
	}
	for _, script := range scripts {
		b.Run(strings.ReplaceAll(script, " ", "_"), func(b *testing.B) {
			var used [2][]float64
			for i, e := range []env.Environment{outside, inside} { // fills caches
				group.measure(b, e, script)
				used[i] = nil
			}
			for b.Loop() {
				for i, e := range []env.Environment{outside, inside} {
					used[i] = append(used[i], group.measure(b, e, script))
				}
			}
			for i := range used {
				slices.Sort(used[i])
			}
			out, in := used[0][len(used[0])/2], used[1][len(used[1])/2]
			b.ReportMetric(out/1e6, "outside-cpu-ms")
			b.ReportMetric(in/1e6, "inside-cpu-ms")
			b.ReportMetric(in/out, "ratio")
			b.ReportMetric(mounts, "mounts")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// account is a cgroup of version 1 that counts the processor time of this process and of everything
// that it starts.
type account string

func newAccount(b *testing.B) account {
	const top = "/sys/fs/cgroup/cpuacct"
	dir := filepath.Join(top, "attractor-bench-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		b.Skipf("processor time cannot be counted here: %v", err)
	}
	move := func(to string) error {
		return os.WriteFile(filepath.Join(to, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0o644)
	}
	if err := move(dir); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := move(top); err != nil {
			b.Error(err)
		}
		_ = os.Remove(dir) // processes of the sandbox may still be ending
	})
	return account(dir)
}

// measure runs a script and returns the processor time in nanoseconds.
func (a account) measure(b *testing.B, e env.Environment, script string) float64 {
	before := a.usage(b)
	if result, err := env.Run(b.Context(), e, env.Command{Script: script}, env.MaxTimeout); err != nil ||
		result.Code != 0 {
		b.Fatal(result, err)
	}
	return a.usage(b) - before
}

func (a account) usage(b *testing.B) float64 {
	n, err := strconv.ParseFloat(strings.TrimSpace(read(b, filepath.Join(string(a), "cpuacct.usage"))), 64)
	if err != nil {
		b.Fatal(err)
	}
	return n
}
