package env_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
	"github.com/attractor-go/attractor/internal/peer"
)

// best returns the level that the test's own probes consider right here, and why the better ones
// are not.
func best(t *testing.T) (level string, why error) {
	t.Helper()
	for _, level := range []string{env.ContainCgroupPIDNS, env.ContainPIDNS, env.ContainCgroup} {
		err := probes()[level](t)
		if err == nil {
			return level, why
		}
		why = errors.Join(why, fmt.Errorf("%s: %w", level, err))
	}
	return env.ContainGroup, why
}

func TestD4_TheBestLevelIsUsed(t *testing.T) {
	want, why := best(t)
	l := newLocal(t, t.TempDir(), env.LocalOptions{})
	t.Logf("Containment is %q; not reachable: %v", levelOf(l), why)
	if levelOf(l) != want {
		t.Fatalf("%s works, but Containment is %q", want, levelOf(l))
	}
	var out capture.Buffer
	if _, err := env.Run(t.Context(), l, env.Command{Script: "cat /proc/self/cgroup; echo /proc/[0-9]*",
		Output: out.Write}, 0); err != nil {
		t.Fatal(err)
	}
	_, v2, _ := strings.Cut(out.Text(), "0::/")
	if own := strings.Contains("/"+v2, "/attractor-"); own != strings.Contains(want, env.ContainCgroup) {
		t.Errorf("the command is in a cgroup of its own: %t: %s", own, out.Text())
	}
	few := strings.Count(out.Text(), "/proc/") <= 4
	if hides := strings.Contains(want, env.ContainPIDNS); few != hides || l.Confinement().HidesHost != hides {
		t.Errorf("the command sees only its own processes: %t; HidesHost is %t: %s", few, l.Confinement().HidesHost,
			out.Text())
	}
}

// Each level below the best one is chosen when the requirements of the better ones are taken away.
func TestD4_LesserLevels(t *testing.T) {
	peer.Need(t, "setpriv")
	for name, c := range map[string]struct{ wrap, want string }{
		"without mounts": {`exec setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$0" "$@"`, env.ContainCgroup},
		"without cgroups": {
			`exec unshare -m sh -c 'umount -a -t cgroup2 && ! grep -q " - cgroup2 " /proc/self/mountinfo && exec "$0" "$@"' "$0" "$@"`, env.ContainPIDNS},
		"without cgroups and privileges": {
			`exec unshare -m sh -c 'umount -a -t cgroup2 && exec setpriv --bounding-set=-all --inh-caps=-all "$0" "$@"' "$0" "$@"`, env.ContainGroup},
	} {
		t.Run(name, func(t *testing.T) {
			if err := probePIDNS(t); err != nil {
				t.Skipf("needs the privilege to change mounts: %v", err)
			}
			cmd := exec.Command("sh", "-c", c.wrap, os.Args[0], "-test.run=^TestD4_TheBestLevelIsUsed$", "-test.v",
				"-test.count=1")
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), `Containment is "`+c.want+`"`) {
				t.Errorf("want %s: %v\n%s", c.want, err, out)
			}
		})
	}
}

func TestD4_LevelsThatDoNotWorkAreErrors(t *testing.T) {
	wanted := map[string]error{"jail": errors.New("no such level")}
	for level, probe := range probes() {
		wanted[level] = probe(t)
	}
	for level, why := range wanted {
		l, err := env.NewLocal(t.TempDir(), env.LocalOptions{Containment: level})
		if why != nil && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v, though %v", level, err, why)
		}
		if why == nil && (err != nil || levelOf(l) != level) {
			t.Errorf("%s: %v", level, err)
		}
		if err == nil {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
