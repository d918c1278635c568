package remote_test

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
	"github.com/attractor-go/attractor/env/remote"
	"github.com/attractor-go/attractor/internal/peer"
)

// system makes a root directory with nothing but busybox.
func system(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	busybox := peer.Need(t, "busybox")
	if loaderOf(t, busybox) != "" {
		peer.Missing(t, "%s needs libraries; Debian's busybox-static does not", busybox)
	}
	list, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"bin", "proc", "dev", "root", "src", "tmp"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	runs(t, "cp", busybox, filepath.Join(root, "bin", "busybox"))
	for _, name := range strings.Fields(string(list)) {
		if name == "busybox" {
			continue
		}
		if err := os.Symlink("busybox", filepath.Join(root, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// apart returns the beginning of a command that runs in mount namespaces of its own.
func apart(t *testing.T, options ...string) []string {
	t.Helper()
	command := append([]string{peer.Need(t, "unshare")}, options...)
	if out, err := exec.Command(command[0], append(command[1:], "true")...).CombinedOutput(); err != nil {
		peer.Missing(t, "%s is not possible here: %v: %s", strings.Join(command, " "), err, out)
	}
	return command
}

// namespace is a busybox in a user namespace, with another root.
func namespace(t *testing.T) machine {
	root := system(t)
	command := append(apart(t, "-rmpf"), "sh", "-c", `mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" &&
	exec chroot "$0" env -i HOME=/root PATH=/bin "$@"`, root)
	return machine{command: command, root: root, src: "/src"}
}

// A helper that needs shared libraries, such as attractor as go install makes it with a C compiler,
// is used where it runs. Where its loader is missing it is not even uploaded, and where it does not
// run nothing of it is left. The reason says what to do.
func TestO1_HelperWithLibraries(t *testing.T) {
	t.Parallel()
	helper, err := os.Executable() // this test is one
	if err != nil {
		t.Fatal(err)
	}
	loader := loaderOf(t, helper)
	if loader == "" {
		t.Skip("not run: tests need no shared libraries here")
	}
	t.Run("there", func(t *testing.T) {
		t.Parallel()
		m := pipe(t)
		if said, err := openWith(t, m, helper); err != nil || len(said) != 1 || !strings.Contains(said[0], helper) {
			t.Errorf("%v, said %q", err, said)
		}
	})
	t.Run("missing", func(t *testing.T) {
		t.Parallel()
		m := namespace(t)
		said, err := openWith(t, m, helper)
		wantsStatic(t, err, helper, loader+", which is not there")
		if _, err := os.Lstat(m.root + "/root/.cache"); len(said) > 0 || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("said %q, and the directory for uploads: %v", said, err)
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(m.root+loader), 0o755),
			os.WriteFile(m.root+loader, []byte("another one"), 0o755)); err != nil {
			t.Fatal(err)
		}
		_, err = openWith(t, m, helper)
		wantsStatic(t, err, "it does not run there")
		if left, err := os.ReadDir(m.root + "/root/.cache/attractor/uploaded"); len(left) > 0 || err != nil {
			t.Errorf("%v is left, %v", left, err)
		}
	})
}

// A file that does not fit on the disk over there is an error that says so. The old file stays as
// it was, and nothing else is left.
func TestO1_FarDiskIsFull(t *testing.T) {
	t.Parallel()
	m := machine{src: t.TempDir()}
	m.command = append(apart(t, "-rm"), "sh", "-c", `mount -t tmpfs -o size=1m none "$0" && exec "$@"`, m.src, "env",
		"XDG_CACHE_HOME="+t.TempDir())
	e := m.dial(t, remote.Options{Dir: m.src})
	if err := e.WriteFile(t.Context(), "a", []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	large := make([]byte, 4<<20)
	for what, write := range map[string]func() error{
		"write":   func() error { return e.WriteFile(t.Context(), "a", large, 0o644) },
		"replace": func() error { return e.Replace(t.Context(), "a", env.HashOf([]byte("old")), large, 0o644) },
		"new":     func() error { return e.WriteFile(t.Context(), "b", large, 0o644) },
	} {
		if err := write(); !errors.Is(err, syscall.ENOSPC) || errors.Is(err, env.ErrLost) {
			t.Errorf("%s: %v", what, err)
		}
	}
	var out capture.Buffer
	if _, err := env.Run(t.Context(), e, env.Command{Script: "ls -A; cat a", Output: out.Write}, 0); err != nil ||
		out.Text() != "a\nold" {
		t.Errorf("there is %q, %v", out.Text(), err)
	}
}

// loaderOf returns the loader that a program names, or "".
func loaderOf(t *testing.T, program string) string {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			name, err := io.ReadAll(p.Open())
			if err != nil {
				t.Fatal(err)
			}
			return string(bytes.Trim(name, "\x00"))
		}
	}
	return ""
}

// openWith opens an environment with a helper and closes it, and returns what was said.
func openWith(t *testing.T, m machine, helper string) (said []string, err error) {
	t.Helper()
	e, err := remote.Dial(t.Context(), m.command, remote.DialOptions{Options: remote.Options{Dir: m.src},
		Helper: func(context.Context, string, string) (string, error) { return helper, nil },
		Log:    func(line string) { said = append(said, line) }})
	if err == nil {
		_, err = e.Stat(t.Context(), m.src)
		err = errors.Join(err, e.Close())
	}
	return said, err
}

// wantsStatic checks an error about a helper that needs libraries.
func wantsStatic(t *testing.T, err error, texts ...string) {
	t.Helper()
	for _, text := range append(texts, "CGO_ENABLED=0 GOOS="+runtime.GOOS) {
		if !errors.Is(err, remote.ErrNoHelper) || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v lacks %q", err, text)
		}
	}
}

// container is a busybox in a container of crun, without a network and with no privileges but
// root's name.
func container(t *testing.T) machine {
	root, dir := system(t), t.TempDir()
	// crun does not know the cgroups of every machine, and needs none.
	crun := append(apart(t, "-m"), "sh", "-c", `mount -t cgroup2 none /sys/fs/cgroup && exec "$@"`, "sh",
		peer.Need(t, "crun"),
		"--root", filepath.Join(dir, "state"), "--cgroup-manager=disabled")
	bundle(t, dir, root)
	start := append(crun[:len(crun):len(crun)], "run", "-d", "--bundle", dir, "box")
	out, err := os.Create(filepath.Join(dir, "out")) // a pipe would be held open by the container
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(start[0], start[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Run()
	if text, _ := os.ReadFile(out.Name()); err != nil {
		peer.Missing(t, "crun cannot start a container here: %v: %s", err, text)
	}
	if err := out.Close(); err != nil {
		t.Error(err)
	}
	t.Cleanup(func() { runs(t, append(crun[:len(crun):len(crun)], "delete", "-f", "box")...) })
	return machine{command: append(crun, "exec", "box"), root: root, src: "/src"}
}

// bundle writes the configuration of a container.
func bundle(t *testing.T, dir, root string) {
	t.Helper()
	type object = map[string]any
	mount := func(kind, at string, options ...string) object {
		return object{"destination": at, "type": kind, "source": kind, "options": options}
	}
	config, err := json.Marshal(object{
		"ociVersion": "1.0.0",
		"root":       object{"path": root},
		"process": object{
			"cwd": "/", "env": []string{"PATH=/bin", "HOME=/root"}, "user": object{"uid": 0, "gid": 0},
			"args": []string{"sh", "-c", "while :; do sleep 1000 & wait; done"}, // it waits for orphans, too
		},
		"mounts": []object{mount("proc", "/proc"), mount("tmpfs", "/dev", "mode=755"),
			mount("devpts", "/dev/pts", "newinstance", "ptmxmode=0666")},
		"linux": object{"namespaces": []object{{"type": "pid"}, {"type": "mount"}, {"type": "network"},
			{"type": "ipc"}, {"type": "uts"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "config.json"), string(config))
}
