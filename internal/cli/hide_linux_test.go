package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// nobodyID is the id of Debian's user nobody and its group nogroup.
const nobodyID = 65534

// asNobody makes a command run as the user nobody and gives it the directories. It skips the test
// if it cannot.
func asNobody(t *testing.T, cmd *exec.Cmd, dirs ...string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can run a command as another user")
	}
	for _, dir := range dirs {
		if err := os.Chown(dir, nobodyID, nobodyID); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd.Path = "/proc/self/exe" // the user nobody may not search the test binary's directory
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobodyID, Gid: nobodyID}
}

// hidesHost reports whether this machine can run commands in a namespace that hides the host.
func hidesHost(t *testing.T) bool {
	t.Helper()
	l, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	return l.Confinement().HidesHost
}

// A tool's command cannot find the API key of attractor, neither as root nor as nobody.
func TestI4_ACommandFindsNoKey(t *testing.T) {
	const key = "sk-of-this-test"
	const look = `tr '\0' '\n' </proc/$PPID/environ; cat /proc/*/environ; cat /proc/*/task/*/environ; env`
	for name, c := range map[string]struct {
		script string
		nobody bool
	}{
		"as root": {look, false}, "as nobody": {look, true},
		"unmounted": {"umount -l /proc; " + look + "; umount -l /proc; " + look, false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.script != look && !hidesHost(t) {
				t.Skip("this machine cannot make a namespace, so the script would unmount the machine's /proc")
			}
			url, _ := serve(t, nil, say("",
				use("shell", map[string]any{"command": "{ " + c.script +
					"; } 2>&1 | tr -c '[:print:]' '[\\n*]'; echo looked"})), fakellm.Turn{Text: "ok"})
			h := newHome(t, url)
			cmd := attractorCommand(t, "run", "--yes", "--json", "x")
			if c.nobody {
				asNobody(t, cmd, h.dir, h.home)
			}
			cmd.Dir = h.dir
			cmd.Env = append(cmd.Env, "HOME="+h.home, "XDG_RUNTIME_DIR="+h.home, "TMPDIR="+h.home,
				"ANTHROPIC_API_KEY="+key, "ANTHROPIC_BASE_URL="+url)
			out := runCommand(t, cmd)
			if out.code != 0 || !strings.Contains(out.stdout, "looked") {
				t.Fatalf("the run failed: %+v", out)
			}
			if strings.Contains(out.stdout, key) {
				t.Error("the command found the key")
			}
			if hides := !c.nobody && hidesHost(t); hides != strings.Contains(out.stdout, `"hides_host":true`) {
				t.Errorf("want hides_host %t: %s", hides, out.stdout)
			}
		})
	}
}

// With namespaces, attractor leaves no process behind if it is killed or crashes.
func TestI5_KilledAndCrashed(t *testing.T) {
	if !hidesHost(t) {
		t.Skip("this machine cannot make a namespace")
	}
	for sig, code := range map[syscall.Signal]int{syscall.SIGKILL: -1, syscall.SIGABRT: 2} {
		v := startBusy(t, "trap '' HUP TERM; env -i setsid $sleep & setsid nohup $sleep & echo ready; $sleep")
		v.endWith(t, sig, code)
		v.waitGone(t)
	}
}

// Without namespaces, resuming a session first ends the processes that its killed attractor left
// behind, and lists them.
func TestI5_ResumeEndsLeftoverProcesses(t *testing.T) {
	var h *home
	v := startBusy(t, "setsid $sleep & echo ready; $sleep", func(cmd *exec.Cmd) {
		h = newHome(t, "")
		asNobody(t, cmd, h.dir, h.home)
		cmd.Dir = h.dir
		cmd.Env = append(cmd.Env, "HOME="+h.home, "XDG_RUNTIME_DIR="+h.home, "TMPDIR="+h.home)
	})
	v.endWith(t, syscall.SIGKILL, -1)
	if !await.Holds(func() bool { return len(running(t, v.sleep)) >= 2 }) { // one may be executing its program
		t.Fatalf("the kill left only these processes: %q", running(t, v.sleep))
	}
	url, _ := serve(t, nil, fakellm.Turn{Text: "recovered"}, fakellm.Turn{Text: "recovered"})
	journals, err := filepath.Glob(h.home + "/.local/state/attractor/sessions/*.jsonl")
	if err != nil || len(journals) != 1 {
		t.Fatalf("journals %q, %v; want one", journals, err)
	}
	cmd := attractorCommand(t, "run", "--yes", "--resume", strings.TrimSuffix(filepath.Base(journals[0]), ".jsonl"))
	asNobody(t, cmd, h.dir, h.home)
	cmd.Dir = h.dir
	cmd.Env = append(cmd.Env, "HOME="+h.home, "XDG_RUNTIME_DIR="+h.home, "TMPDIR="+h.home,
		"ANTHROPIC_API_KEY=key-of-a-test", "ANTHROPIC_BASE_URL="+url)
	out := runCommand(t, cmd)
	if out.code != 0 || out.stdout != "recovered\n" || strings.Count(out.stderr, "had left behind: ") < 2 ||
		!strings.Contains(out.stderr, v.sleep) {
		t.Errorf("resume: %+v", out)
	}
	v.checkNothingLeft(t)
}
