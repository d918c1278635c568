package sandbox_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/peer"
)

// Builds and tests work without a network, in each tool chain.
func TestL4_ToolChains(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module example.com/m\n\ngo 1.24\n\nrequire github.com/google/uuid v1.6.0\n")
	write(t, filepath.Join(dir, "m.go"),
		"package m\n\nimport \"github.com/google/uuid\"\n\nfunc New() string { return uuid.NewString() }\n")
	write(t, filepath.Join(dir, "m_test.go"),
		"package m\n\nimport (\"net\"; \"testing\")\n\nfunc TestNew(t *testing.T) {\n\tl, err := net.Listen(\"tcp\", "+
			"\"127.0.0.1:0\")\n\tif err != nil || len(New()) != 36 {\n\t\tt.Fatal(err)\n\t}\n\tl.Close()\n}\n")
	sum, err := os.ReadFile("../../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "go.sum"), string(sum))
	write(t, filepath.Join(dir, "package.json"),
		`{"name":"m","version":"1.0.0","scripts":{"test":"node -e 'console.log(6*7)'"}}`)
	write(t, filepath.Join(dir, "Cargo.toml"), "[package]\nname = \"m\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
	write(t, filepath.Join(dir, "src/main.rs"), "fn main() {}\n")
	write(t, filepath.Join(dir, "m.py"), "import json, tempfile\ntempfile.TemporaryFile()\nprint(json.dumps(42))\n")
	cache, err := os.UserCacheDir() // warm, so that the test is fast
	if err != nil {
		t.Fatal(err)
	}
	b := newBox(t, dir, sandbox.Options{Cache: cache}, env.LocalOptions{})
	for program, script := range map[string]string{
		"go": "go vet ./... && go test ./... && go build -o m ./... && gofmt -l .", "npm": "npm test --silent",
		"cargo": "cargo check --quiet --offline", "python3": "python3 m.py",
		"cc": "mkdir -p c && cd c && echo 'int main(void){return 0;}' >x.c && cc x.c && ./a.out",
	} {
		t.Run(program, func(t *testing.T) {
			missing := peer.Missing
			if program == "cargo" { // which .ci/peers does not install
				missing = testing.TB.Skipf
			}
			version := "--version"
			if program == "go" {
				version = "version"
			}
			if out, err := exec.Command(program, version).CombinedOutput(); err != nil {
				missing(t, "%s is not installed, or does not work outside either: %v: %s", program, err, out)
			}
			b.succeeds(t, script)
		})
	}
}

// The variables of agents and displays are gone, and sockets are not there, unless they are
// allowed.
func TestL4_Sockets(t *testing.T) {
	allowed, other := filepath.Join(t.TempDir(), "allowed"), filepath.Join(t.TempDir(), "other")
	for _, name := range []string{allowed, other, "@attractor-test-" + filepath.Base(t.TempDir()) + t.Name()} {
		l, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "SSH_AUTH_SOCK=" + allowed,
		"DOCKER_HOST=unix://" + other, "DISPLAY=:0", "DBUS_SESSION_BUS_ADDRESS=x", "XDG_RUNTIME_DIR=/run/user/0"}
	b := newBox(t, t.TempDir(), sandbox.Options{AllowSockets: []string{allowed}, Environ: environ},
		env.LocalOptions{Vars: env.VarsAll})
	b.succeeds(t, `[ -S "$SSH_AUTH_SOCK" ] && [ -z "$DOCKER_HOST$DISPLAY$DBUS_SESSION_BUS_ADDRESS$XDG_RUNTIME_DIR" ] && [ ! -e `+other+` ]`)
	b.succeeds(t, `! grep -q @ /proc/net/unix`)
}

// What is no socket is refused at every level, instead of opening more than it names.
func TestL4_WrongSockets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "x")
	for _, level := range []sandbox.Level{sandbox.ReadOnly, sandbox.Workspace, sandbox.WorkspaceWeak} {
		for _, name := range []string{"", "relative", file, file + ".missing"} {
			s, err := sandbox.New(t.TempDir(), sandbox.Options{Level: level, AllowSockets: []string{name},
				State: t.TempDir()})
			if err == nil {
				t.Errorf("%s: %q: there is a sandbox: %v", level, name, s.Close())
			} else if !strings.Contains(err.Error(), "is not the absolute path of a Unix socket: ") ||
				strings.Contains(err.Error(), "<nil>") {
				t.Errorf("%s: %q: %v", level, name, err)
			}
		}
	}
}

func TestL4_ReadOnly(t *testing.T) {
	dir := t.TempDir()
	repository(t, dir)
	b := newBox(t, dir, sandbox.Options{Level: sandbox.ReadOnly, Environ: user(t)}, env.LocalOptions{})
	b.succeeds(t, "cat f && git status && git log && echo x >/tmp/x && echo x >~/x")
	for _, script := range []string{"echo x >f", "echo x >new", "rm f", "git commit --allow-empty -m x", "chmod 0 f"} {
		b.fails(t, script)
	}
	if err := b.WriteFile(t.Context(), "new", nil, 0o644); err == nil {
		t.Error("the file tools write in a read-only root")
	}
	if _, err := b.Stat(t.Context(), "../f"); err == nil || strings.Count(err.Error(), dir) != 1 {
		t.Errorf("an error names the root %v", err)
	}
}

// A directory of the roots may be read-only, and it cannot be moved away.
func TestL4_ReadOnlyPart(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a/part/f"), "one")
	b := newBox(t, dir, sandbox.Options{ReadOnly: []string{filepath.Join(dir, "a/part")}}, env.LocalOptions{})
	b.succeeds(t, "cat a/part/f && echo x >a/new")
	for _, script := range []string{"echo x >a/part/f", "mv a/part b", "mv a b", "rm -rf a"} {
		b.fails(t, script)
	}
}

// The working directory may have the name of a symbolic link.
func TestL4_LinkedRoot(t *testing.T) {
	real, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	b := newBox(t, link, sandbox.Options{}, env.LocalOptions{})
	if out := b.succeeds(t, "echo in >f && cat "+link+"/f && pwd && mkdir d"); !strings.HasPrefix(out, "in\n") {
		t.Error(out)
	}
	b.fails(t, "echo x >"+link+"/.mcp.json")
}

// A workspace whose root or mounts cannot be confined is refused.
func TestL4_UnfitRoots(t *testing.T) {
	peer.Need(t, "bwrap")
	home := t.TempDir()
	for _, dir := range []string{"/", "/usr", "/proc", home, filepath.Dir(home)} {
		o := sandbox.Options{Level: sandbox.Workspace, Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")},
			State: t.TempDir()}
		if _, err := sandbox.New(dir, o); err == nil || !strings.Contains(err.Error(), "choose a directory in it") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// System calls that lead out of the sandbox are refused, also those of another architecture, and so
// are set-user-id files.
func TestL4_SystemCalls(t *testing.T) {
	dir := t.TempDir()
	b := newBox(t, dir, sandbox.Options{}, env.LocalOptions{})
	write(t, filepath.Join(dir, "go.mod"), "module example.com/calls\n\ngo 1.24\n")
	write(t, filepath.Join(dir, "main.go"), `package main

import (
	"fmt"
	"os"
	"syscall"
)

func main() {
	if s, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0); err != nil {
		fmt.Println("an ordinary socket:", err, s)
	}
	for name, err := range map[string]error{
		"AF_VSOCK":  socket(40),
		"AF_ALG":    socket(38),
		"unshare":   syscall.Unshare(0x10000000),
		"io_uring":  call(425, 1),
		"keyctl":    keyctl(),
		"TIOCSTI":   call(syscall.SYS_IOCTL, 0, 0x5412, 0),
		"chmod u+s": chmod(),
		"open u+s":  open(),
		"mount":     syscall.Mount("none", "/tmp", "tmpfs", 0, ""),
	} {
		if err != syscall.EPERM && err != syscall.EAFNOSUPPORT {
			fmt.Println(name, err)
		}
	}
}

func call(n uintptr, args ...uintptr) error {
	args = append(args, 0, 0, 0)
	if _, _, err := syscall.Syscall(n, args[0], args[1], args[2]); err != 0 {
		return err
	}
	return nil
}

func socket(family int) error {
	_, err := syscall.Socket(family, syscall.SOCK_STREAM, 0)
	return err
}

func keyctl() error {
	return call(map[bool]uintptr{true: 250, false: 219}[syscall.SYS_READ == 0], 0)
}

func chmod() error {
	os.WriteFile("f", nil, 0o755)
	return syscall.Chmod("f", 0o4755)
}

func open() error {
	_, err := syscall.Open("g", syscall.O_CREAT|syscall.O_WRONLY, 0o4755)
	return err
}
`)
	build := exec.Command(peer.Need(t, "go"), "build", "-o", "calls", ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out := b.succeeds(t, "./calls"); out != "" {
		t.Errorf("not refused: %s", out)
	}
}

// As root, commands use a workspace of another user as they would outside.
func TestL4_WorkspaceOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can use the files of another user")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), "one")
	for _, name := range []string{dir, filepath.Join(dir, "f")} {
		if err := os.Chown(name, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	b := newBox(t, dir, sandbox.Options{}, env.LocalOptions{})
	b.succeeds(t, "echo two >f && echo new >g && chmod 600 f && mkdir d && rm g")
	for _, name := range []string{"/etc/shadow", "/etc/gshadow", "/proc/kcore", "/dev/mem"} {
		if out := b.fails(t, "cat "+name+" | grep ."); strings.Contains(out, ":") && !strings.Contains(out, name) {
			t.Errorf("%s: %q", name, out)
		}
	}
}

// The sandbox's own files cannot be in a root. The error says what to set.
func TestL4_TemporaryFilesInTheRoot(t *testing.T) {
	peer.Need(t, "bwrap")
	dir := t.TempDir()
	temp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	_, err := sandbox.New(dir, sandbox.Options{Level: sandbox.Workspace, State: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "set TMPDIR to a directory outside of it (it is "+temp+" now)") {
		t.Errorf("%v", err)
	}
	if left := list(t, temp); left != "" {
		t.Errorf("left: %s", left)
	}
}

// A link that a command has left in the kept cache does not lead to directories made outside.
func TestL4_LinkInTheCache(t *testing.T) {
	home, cache, victim := t.TempDir(), t.TempDir(), t.TempDir()
	environ := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	root := filepath.Join(home, ".cache/tools/deep/work")
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	first := newBox(t, t.TempDir(), sandbox.Options{Cache: cache, Environ: environ}, env.LocalOptions{})
	first.succeeds(t, "ln -s "+victim+" ~/.cache/tools")
	first.end(t)
	for _, target := range []string{victim, "elsewhere"} {
		o := sandbox.Options{Level: sandbox.Workspace, Roots: []string{root}, Cache: cache, Environ: environ,
			State: t.TempDir()}
		if _, err := sandbox.New(t.TempDir(), o); err == nil || !strings.Contains(err.Error(),
			filepath.Join(cache, "tools")+": remove it") {
			t.Errorf("a link to %s: %v", target, err)
		}
		if made := list(t, victim); made != "" {
			t.Errorf("made outside: %s", made)
		}
		second := newBox(t, t.TempDir(), sandbox.Options{Cache: cache, Environ: environ}, env.LocalOptions{})
		second.succeeds(t, "rm ~/.cache/tools; mkdir ~/.cache/elsewhere; ln -s elsewhere ~/.cache/tools")
		second.end(t)
	}
}
