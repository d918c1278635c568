package sandbox_test

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/internal/peer"
)

// A world is a part of the machine that attacks must not reach: a home directory with keys, a
// repository in it, which is the root of the sandbox, other directories, listeners, and a process
// of the host. It finds out from outside what an attack has done.
type world struct {
	t                         testing.TB
	base                      string // holds everything; no directory that the sandbox makes private is above it
	home, root, out, run, tmp string
	tool                      string // the program of testdata/attack
	secret                    string // part of every secret text
	shmKey                    int
	key                       string // names a key in the kernel's keyring
	victim                    *exec.Cmd
	victimAt                  string // where it has the secret in its memory
	system                    string // a file of the system's directories, if this user may write there
	socket                    string // a Unix socket outside
	pidns                     string // names the namespace of this process's identifiers
	ports                     map[string]string

	mu    sync.Mutex
	hits  []string // what listeners and the victim got
	pings chan struct{}
	state map[string]string
	ends  []func()
}

// atEnd calls f when the world ends.
func (w *world) atEnd(f func()) { w.ends = append(w.ends, f) }

// end ends the world and removes it.
func (w *world) end() {
	for _, f := range slices.Backward(w.ends) {
		f()
	}
	w.ends = nil
}

// effect is something that an attack has done.
type effect string

const (
	wrote     effect = "write"     // changed a file outside the writable roots
	metadata  effect = "metadata"  // changed the mode or owner of a file outside
	protected effect = "protected" // changed a file in a root that starts programs outside
	inRoot    effect = "root"      // changed another file in a root
	readIt    effect = "read"      // read a secret
	toTCP     effect = "tcp"
	toHost    effect = "host" // asked a server for a host that is not named
	toUDP     effect = "udp"
	toAbs     effect = "abstract" // reached an abstract Unix socket
	toPath    effect = "socket"   // reached a Unix socket by its path
	sees      effect = "sees"     // learned that something outside exists
	leads     effect = "leads"    // was told the name of a service
	signalled effect = "signal"
	kernel    effect = "kernel"  // was allowed a system call that must be refused
	special   effect = "special" // made a device or a set-user-id program in a root
	nextGit   effect = "git"     // left something that the user's next git command runs
)

// newWorld returns a world that ends with the test. Root is a repository with a nested one, a
// submodule and a work tree.
func newWorld(t testing.TB, tool string) *world {
	t.Helper()
	base, err := os.MkdirTemp(placeOfWorlds(t), "attractor-attacks-")
	if err != nil {
		t.Fatal(err)
	}
	if base, err = filepath.EvalSymlinks(base); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, base: base, home: base + "/home", root: base + "/home/project", out: base + "/out",
		run: base + "/run", secret: secretText(), ports: map[string]string{}, pings: make(chan struct{}, 1)}
	t.Cleanup(w.end)
	w.atEnd(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	w.files()
	w.tool = filepath.Join(w.root, "tool")
	w.copyTool(tool)
	w.system = w.systemFile()
	w.listeners()
	w.fronts()
	w.passing()
	w.pidns, err = os.Readlink("/proc/self/ns/pid")
	w.do(err)
	w.victimProcess()
	w.sharedMemory()
	w.keyring()
	w.state = w.snapshot()
	return w
}

// worldsVar names the directory for worlds, for a test that runs as another user.
const worldsVar = "ATTRACTOR_TEST_WORLDS"

// placeOfWorlds returns a directory that no sandbox makes private, except as the home directory.
func placeOfWorlds(t testing.TB) string {
	t.Helper()
	home, err := os.UserHomeDir()
	for _, dir := range []string{os.Getenv(worldsVar), "/srv", "/home", home} {
		if dir != "" && unix.Access(dir, unix.W_OK) == nil {
			return dir
		}
	}
	t.Fatalf("there is no place for a world: neither /srv, /home nor the home directory can be written to: %v", err)
	return ""
}

// secretText returns the secret of all worlds of this process.
var secretText = sync.OnceValue(func() string { return "SECRET" + rand.Text() })

// do runs one of the steps that make the world.
func (w *world) do(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// files copies the files of template and makes those elsewhere.
func (w *world) files() {
	if out, err := exec.Command("cp", "-a", w.template(), w.base+"/").CombinedOutput(); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"home", "out", "run"} {
		w.do(os.Rename(w.base+"/world/"+name, w.base+"/"+name))
	}
	w.do(os.Remove(w.base + "/world"))
	w.do(os.Symlink(w.out, w.root+"/link-out"))
	tmp, err := os.MkdirTemp("/tmp", "attractor-attacks-")
	w.do(err)
	w.tmp = tmp
	w.atEnd(func() {
		if err := os.RemoveAll(tmp); err != nil {
			w.t.Error(err)
		}
	})
	write(w.t, tmp+"/secret", w.secret)
	shm := "/dev/shm/" + filepath.Base(w.base)
	w.do(os.WriteFile(shm, []byte(w.secret), 0o600))
	w.atEnd(func() {
		if err := os.Remove(shm); err != nil {
			w.t.Error(err)
		}
	})
}

func (w *world) copyTool(tool string) {
	data, err := os.ReadFile(tool)
	w.do(err)
	w.do(peer.WriteProgram(w.tool, data))
}

// templates guards the making of a template.
var templates sync.Mutex

// template returns a directory with a world's files, which is made once.
func (w *world) template() string {
	templates.Lock()
	defer templates.Unlock()
	p, err := built()
	w.do(err)
	base := filepath.Join(p.own, "world")
	if _, err := os.Stat(base); err == nil {
		return base
	}
	home, root := base+"/home", base+"/home/project"
	for name, text := range map[string]string{
		home + "/.ssh/id_ed25519": w.secret, home + "/.aws/credentials": w.secret,
		home + "/.netrc":               "machine example.com login me password " + w.secret,
		home + "/.git-credentials":     "https://me:" + w.secret + "@example.com\n",
		home + "/.docker/config.json":  w.secret,
		home + "/.config/gh/hosts.yml": w.secret, home + "/.gnupg/private-keys-v1.d/a.key": w.secret,
		home + "/.bashrc": "# of the home directory\n",
		home + "/.gitconfig": "[credential]\n\thelper = store\n[user]\n\tname = n\n\temail = e@example.com\n" +
			"[safe]\n\tdirectory = *\n",
		home + "/.kube/config": w.secret, home + "/.npmrc": w.secret, home + "/.cargo/credentials.toml": w.secret,
		home + "/.m2/settings.xml":                    w.secret,
		home + "/.local/share/keyrings/login.keyring": w.secret, home + "/.mozilla/firefox/cookies.sqlite": w.secret,
		home + "/.bash_history":    w.secret,
		home + "/other/secret.txt": w.secret, home + "/.ssh/authorized_keys": "# keys\n",
		base + "/out/secret": w.secret, base + "/out/file": "outside\n", base + "/out/dir/file": "outside\n",
		root + "/main.go": "package main\n", root + "/sub/f": "f\n", root + "/.vscode/settings.json": "{}\n",
		base + "/run/f": "",
	} {
		write(w.t, name, text)
	}
	for _, dir := range []string{home + "/project-evil", home + "/.claude"} {
		w.do(os.MkdirAll(dir, 0o755))
	}
	git(w.t, root, "init", "-q")
	git(w.t, root, "add", ".")
	git(w.t, root, "commit", "-q", "-m", "first")
	w.do(os.MkdirAll(root+"/nested", 0o755))
	git(w.t, root+"/nested", "init", "-q")
	git(w.t, root+"/nested", "commit", "-q", "--allow-empty", "-m", "first")
	git(w.t, root, "submodule", "--quiet", "add", root+"/nested", "module")
	w.repositories(root)
	w.do(os.MkdirAll(root+"/.git/hooks", 0o755))
	w.do(os.WriteFile(root+"/.git/hooks/pre-commit", []byte("#!/bin/sh\n"), 0o755))
	return base
}

// gitDirs are the directories in the root in which the user runs git after an attack on
// repositories.
var gitDirs = []string{"", "nested", "module", "deep/er/nested", "node_modules/@a/b/node_modules/c/d/e",
	"separate", ".bare", "tree", "linked", "broken"}

// repositories makes repositories of other forms in the root.
func (w *world) repositories(root string) {
	for _, name := range []string{"deep/er/nested", "node_modules/@a/b/node_modules/c/d/e", "linked"} {
		w.do(os.MkdirAll(filepath.Join(root, name), 0o755))
		git(w.t, filepath.Join(root, name), "init", "-q")
	}
	w.do(os.MkdirAll(root+"/store", 0o755))
	w.do(os.Rename(root+"/linked/.git", root+"/store/linked"))
	w.do(os.Symlink("../store/linked", root+"/linked/.git"))
	git(w.t, root, "init", "-q", "--separate-git-dir", "store/separate", "separate")
	w.do(os.WriteFile(root+"/separate/.git", []byte("gitdir: ../store/separate\n"), 0o644)) // the world moves
	git(w.t, root, "clone", "-q", "--bare", "nested", ".bare")
	git(w.t, root+"/.bare", "worktree", "add", "-q", "--detach", "../tree")
	w.do(os.WriteFile(root+"/tree/.git", []byte("gitdir: ../.bare/worktrees/tree\n"), 0o644))
	w.do(os.WriteFile(root+"/.bare/worktrees/tree/gitdir", []byte("../../../tree/.git\n"), 0o644))
	w.do(os.MkdirAll(root+"/broken", 0o755))
	w.do(os.WriteFile(root+"/broken/.git", []byte("gitdir: ../missing/repository\n"), 0o644))
}

// ran is the file that a program of an attack on repositories makes.
func (w *world) ran() string { return w.base + "/ran" }

// userGit runs git as the user does after a command, in all directories with repositories, and
// notes whether it has run a program of an attack.
func (w *world) userGit() {
	for _, name := range gitDirs {
		cmd := exec.Command(peer.Need(w.t, "git"), "--no-optional-locks", "status", "--short")
		cmd.Dir, cmd.Env = filepath.Join(w.root, name), w.environ()
		out, _ := cmd.CombinedOutput() // an attack may have broken the repository
		switch err := os.Remove(w.ran()); {
		case err == nil:
			w.hit(nextGit, "git status in %s has run the program of an attack: %.300s", cmd.Dir, out)
		case !errors.Is(err, fs.ErrNotExist):
			w.t.Error(err)
		}
	}
}

// systemFile returns a file of ours in /usr/local, or "" if this user may not write there.
func (w *world) systemFile() string {
	name := "/usr/local/share/" + filepath.Base(w.base)
	if err := os.WriteFile(name, []byte("of the system\n"), 0o644); err != nil {
		return ""
	}
	w.atEnd(func() {
		if err := os.Remove(name); err != nil {
			w.t.Error(err)
		}
	})
	return name
}

// hit notes that something outside was reached.
func (w *world) hit(e effect, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hits = append(w.hits, string(e)+"\x00"+fmt.Sprintf(format, args...))
}

// listeners starts servers on TCP, UDP and Unix sockets.
func (w *world) listeners() {
	for network, address := range map[string]string{"tcp4": "127.0.0.1:0", "tcp6": "[::1]:0"} {
		l, err := net.Listen(network, address)
		if err != nil {
			w.t.Logf("no %s here: %v", network, err)
			continue
		}
		w.ports[network] = l.Addr().String()
		w.serve(l, toTCP)
	}
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		c, err := net.ListenPacket("udp", address)
		if err != nil {
			w.t.Logf("no UDP on %s here: %v", address, err)
			continue
		}
		w.ports["udp"+c.LocalAddr().String()[:1]] = c.LocalAddr().String() // udp1 and udp[
		w.packets(c, toUDP)
	}
	c, err := net.ListenPacket("unixgram", w.out+"/datagrams")
	w.do(err)
	w.packets(c, toPath)
	w.ports["abstract"] = filepath.Base(w.base)
	l, err := net.Listen("unix", "@"+w.ports["abstract"])
	w.do(err)
	w.serve(l, toAbs)
	w.socket = w.out + "/docker.sock"
	for _, name := range w.sockets() {
		w.do(os.MkdirAll(filepath.Dir(name), 0o700))
		l, err := net.Listen("unix", name)
		w.do(err)
		w.serve(l, toPath)
	}
}

// sockets returns the paths of listening Unix sockets, as services have them.
func (w *world) sockets() []string {
	return []string{w.socket, w.home + "/.docker/run/docker.sock", w.run + "/docker.sock",
		w.run + "/podman/podman.sock", w.run + "/bus", w.run + "/wayland-0",
		w.run + "/systemd/private", w.run + "/gnupg/S.gpg-agent", w.run + "/keyring/ssh", w.tmp + "/ssh-agent",
		w.tmp + "/.X11-unix", w.tmp + "/tmux"}
}

// passing starts a server on a Unix socket that passes an open directory outside to whoever
// connects.
func (w *world) passing() {
	dir, err := os.Open(w.out)
	w.do(err)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: w.out + "/passing", Net: "unix"})
	w.do(err)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.AcceptUnix()
			if err != nil {
				return
			}
			w.hit(toPath, "connection to %s", l.Addr())
			_, _, err = c.WriteMsgUnix([]byte("x"), unix.UnixRights(int(dir.Fd())), nil)
			_ = errors.Join(err, c.Close()) // the attacker may have ended
		}
	})
	w.atEnd(func() {
		w.do(l.Close())
		all.Wait()
		w.do(dir.Close())
	})
}

// serve answers each connection with a line.
func (w *world) serve(l net.Listener, e effect) {
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.hit(e, "connection to %s", l.Addr())
			_, err = io.WriteString(c, "got it\n")
			_ = errors.Join(err, c.Close()) // the attacker may have ended
		}
	})
	w.atEnd(func() {
		w.do(l.Close())
		all.Wait()
	})
}

func (w *world) packets(c net.PacketConn, e effect) {
	var all sync.WaitGroup
	all.Go(func() {
		buf := make([]byte, 100)
		for {
			_, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			w.hit(e, "packet to %s", c.LocalAddr())
			_, _ = c.WriteTo([]byte("got it\n"), from)
		}
	})
	w.atEnd(func() {
		w.do(c.Close())
		all.Wait()
	})
}

// ping is the signal to which the victim answers when it has noted all others. Go passes on the
// signal with the highest number last.
const ping = syscall.SIGWINCH

// victimProcess starts a process of this user with secrets, which notes its signals.
func (w *world) victimProcess() {
	w.victim = exec.Command(w.tool, "victim", w.secret)
	w.victim.Env, w.victim.Dir = []string{"KEY=" + w.secret}, w.out
	in, err := os.Open(w.out + "/secret")
	w.do(err)
	w.victim.Stdin = in
	out, err := w.victim.StdoutPipe()
	w.do(err)
	w.victim.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // the kernel kills the victim when the thread that has started it ends
		started <- w.victim.Start()
		<-ended
	}()
	w.atEnd(func() { close(ended) })
	w.do(<-started)
	w.do(in.Close())
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	w.do(err)
	_, w.victimAt, _ = strings.Cut(strings.TrimSpace(first), " ")
	var all sync.WaitGroup
	all.Go(func() {
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				w.hit(signalled, "the victim has ended")
				close(w.pings)
				return
			}
			if strings.Contains(line, ping.String()) {
				w.pings <- struct{}{}
				continue
			}
			w.hit(signalled, "the victim was %s", strings.TrimSpace(line))
		}
	})
	w.atEnd(func() {
		w.do(w.victim.Process.Kill())
		all.Wait()
		var exit *exec.ExitError
		if err := w.victim.Wait(); !errors.As(err, &exit) {
			w.t.Error(err)
		}
	})
}

func (w *world) sharedMemory() {
	h := fnv.New32()
	_, err := io.WriteString(h, w.base)
	w.do(err)
	w.shmKey = int(h.Sum32()&0xffffff) + 1
	out, err := exec.Command(w.tool, "makeshm", fmt.Sprint(w.shmKey), w.secret).CombinedOutput()
	if err != nil {
		w.t.Logf("no shared memory here: %v: %s", err, out)
		return
	}
	var id int
	_, err = fmt.Sscanf(string(out), "id %d", &id)
	w.do(err)
	w.atEnd(func() {
		_, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		w.do(err)
	})
}

// keyring puts a secret into the kernel's keyring of this user.
func (w *world) keyring() {
	w.key = "attractor-" + filepath.Base(w.base)
	out, err := exec.Command(w.tool, "makekey", w.key, w.secret).CombinedOutput()
	if err != nil {
		w.t.Logf("no keyring here: %v: %s", err, out)
		return
	}
	var id int
	_, err = fmt.Sscanf(string(out), "id %d", &id)
	w.do(err)
	w.atEnd(func() {
		_, err := unix.KeyctlInt(unix.KEYCTL_UNLINK, id, unix.KEY_SPEC_USER_KEYRING, 0, 0)
		w.do(err)
	})
}

// environ returns the environment of the host, with variables that lead to its services and those
// that scripts use.
func (w *world) environ() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "USER=someone", "LANG=C.UTF-8",
		"SSH_AUTH_SOCK=" + w.tmp + "/ssh-agent", "DOCKER_HOST=unix://" + w.run + "/docker.sock",
		"DBUS_SESSION_BUS_ADDRESS=unix:path=" + w.run + "/bus", "DISPLAY=:77", "WAYLAND_DISPLAY=wayland-0",
		"XDG_RUNTIME_DIR=" + w.run, "TMUX=" + w.tmp + "/tmux,1,0",
		"GPG_AGENT_INFO=" + w.run + "/gnupg/S.gpg-agent:1:1"}
}

// vars returns the variables that scripts use.
func (w *world) vars() []string {
	system := w.system
	if system == "" {
		system = "/no-file-of-the-system"
	}
	return []string{"HOST=" + fmt.Sprint(os.Getpid()), "PIDNS=" + w.pidns, "PORT=" + portOf(w.ports["tcp4"]),
		"TLSPORT=" + w.ports["tls"], "PLAIN=" + named + ":" + w.ports["plain"], "PLAINPORT=" + w.ports["plain"],
		"OUT=" + w.out, "ROOT=" + w.root, "HOSTHOME=" + w.home, "HOSTTMP=" + w.tmp, "RUN=" + w.run, "TOOL=" + w.tool,
		"VICTIM=" + fmt.Sprint(w.victim.Process.Pid),
		"VICTIMAT=" + w.victimAt, "SECRETLEN=" + fmt.Sprint(len(w.secret)), "SHM=" + fmt.Sprint(w.shmKey),
		"KEYNAME=" + w.key, "SYSTEM=" + system, "SHMFILE=/dev/shm/" + filepath.Base(w.base),
		"TCP4=" + w.ports["tcp4"], "TCP6=" + w.ports["tcp6"], "UDP4=" + w.ports["udp1"], "UDP6=" + w.ports["udp["],
		"ABSTRACT=" + w.ports["abstract"], "SOCKET=" + w.socket,
		"RAN=" + w.ran(), "MARK=" + filepath.Base(w.base)}
}

// protectedNames are the files and directories in a root that start programs outside.
var protectedNames = []string{".git/hooks", ".git/config", ".git/info", ".git/modules", ".git/worktrees",
	".git/commondir", ".git/remotes", ".git/branches", "nested/.git/hooks", "nested/.git/config", "nested/.git/info",
	"nested/.git/commondir", "module/.git", "refs", "commondir", "nested/refs", "nested/commondir",
	".attractor", ".claude", ".codex", ".agents", ".gemini", ".vscode", ".mcp.json", ".bashrc", ".profile", ".zshrc",
	".envrc", ".gitconfig"}

// kind returns what a change of a file means.
func (w *world) kind(name string) effect {
	rest, inside := strings.CutPrefix(name, w.root+"/")
	if !inside {
		return wrote
	}
	for _, p := range protectedNames {
		if rest == p || strings.HasPrefix(rest, p+"/") || strings.HasPrefix(p+"/", rest+"/") && rest != ".git" &&
			rest != "nested" && rest != "nested/.git" && rest != "module" {
			return protected
		}
	}
	return inRoot
}

// placeholder reports whether a protected file is one that a sandbox has put there for a while:
// nothing that a program would use.
func (w *world) placeholder(name string, info fs.FileInfo) bool {
	if w.kind(name) != protected || info.Mode()&fs.ModeSticky == 0 || info.Mode().Perm()&0o222 != 0 {
		return false
	}
	if info.IsDir() {
		entries, err := os.ReadDir(name)
		return err == nil && len(entries) == 0 || errors.Is(err, fs.ErrNotExist)
	}
	data, err := os.ReadFile(name)
	return err == nil && strings.Trim(string(data), ".\n") == "" || errors.Is(err, fs.ErrNotExist)
}

// placeholders returns those that are there now.
func (w *world) placeholders() (names []string) {
	for _, p := range protectedNames {
		name := filepath.Join(w.root, p)
		if info, err := os.Lstat(name); err == nil && w.placeholder(name, info) {
			names = append(names, name)
		}
	}
	return names
}

// snapshot returns a line for each file of the world.
func (w *world) snapshot() map[string]string {
	state := map[string]string{}
	for _, top := range []string{w.base, w.tmp, w.system, "/dev/shm/" + filepath.Base(w.base)} {
		if top == "" {
			continue
		}
		err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // a placeholder that has just gone
			}
			if err != nil {
				state[name] = err.Error()
				return nil
			}
			info, err := d.Info()
			if errors.Is(err, fs.ErrNotExist) || err == nil && w.placeholder(name, info) {
				return nil
			}
			if err != nil {
				state[name] = err.Error()
				return nil
			}
			stat := info.Sys().(*syscall.Stat_t)
			text := fmt.Sprintf("%v %d %d ", info.Mode(), stat.Uid, stat.Rdev)
			if d.IsDir() {
				text += fmt.Sprint(stat.Ino) // another directory in its place is a change
			}
			switch {
			case info.Mode()&fs.ModeSymlink != 0:
				to, err := os.Readlink(name)
				text += to + fmt.Sprint(err)
			case info.Mode().IsRegular() && info.Size() < 1<<20:
				data, err := os.ReadFile(name)
				text += string(data) + fmt.Sprint(err)
			}
			state[name] = text
			return nil
		})
		if err != nil {
			w.t.Error(err)
		}
	}
	return state
}

// effects returns what has happened since the last call, given what an attack printed, and why.
func (w *world) effects(output string) map[effect][]string {
	found := map[effect][]string{}
	now := w.snapshot()
	for _, name := range slices.Sorted(maps.Keys(merge(w.state, now))) {
		before, after := w.state[name], now[name]
		if before == after {
			continue
		}
		kind := w.kind(name)
		if kind == wrote && before != "" && after != "" && strings.SplitN(before, " ", 4)[3] == strings.SplitN(after,
			" ", 4)[3] {
			kind = metadata
		}
		found[kind] = append(found[kind], fmt.Sprintf("%s: %.60q, was %.60q", name, after, before))
		if strings.Contains(after, w.secret) && !strings.Contains(before, w.secret) {
			found[readIt] = append(found[readIt], name+" has the secret")
		}
		if mode := strings.SplitN(after, " ", 2)[0]; strings.ContainsAny(mode, "DcUu") &&
			strings.HasPrefix(name, w.root) && !strings.HasPrefix(mode, "d") {
			found[special] = append(found[special], name+": "+mode)
		}
	}
	w.state = now
	if strings.Contains(output, w.secret) {
		found[readIt] = append(found[readIt], "the output has the secret")
	}
	if err := w.victim.Process.Signal(ping); err != nil {
		w.hit(signalled, "the victim has ended: %v", err)
	}
	<-w.pings // it has noted earlier signals
	for line := range strings.Lines(output) {
		if strings.HasPrefix(line, "GOT ") {
			found[kernel] = append(found[kernel], strings.TrimSpace(line))
		}
		if strings.HasPrefix(line, "SEES ") {
			found[sees] = append(found[sees], strings.TrimSpace(line))
		}
		if strings.HasPrefix(line, "LEADS ") {
			found[leads] = append(found[leads], strings.TrimSpace(line))
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, hit := range w.hits {
		e, what, _ := strings.Cut(hit, "\x00")
		found[effect(e)] = append(found[effect(e)], what)
	}
	w.hits = nil
	return found
}

func merge(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
