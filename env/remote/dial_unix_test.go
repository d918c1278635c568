//go:build unix

package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/peer"
)

// talking is a program that stands for a helper: it says which versions it speaks, and otherwise
// gives back what it is sent.
const talking = "#!/bin/sh\ncase $2 in --protocol) echo attractor-env-protocol %d %d ;; *) echo \"$PWD $*\" && exec " +
	"cat ;; esac\n"

// place is the other machine of a test: a directory with its home, its programs and its helper
// here.
type place struct {
	home, bin, helper string
	said              []string
}

func newPlace(t *testing.T) *place {
	dir := t.TempDir()
	p := &place{home: filepath.Join(dir, "home"), bin: filepath.Join(dir, "bin"), helper: filepath.Join(dir, "helper")}
	for _, dir := range []string{p.home, p.bin} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.put(t, p.helper, fmt.Sprintf(talking, 1, 1))
	return p
}

// put writes a program.
func (p *place) put(t *testing.T, path, text string) {
	t.Helper()
	if err := peer.WriteProgram(path, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// link makes a program of this machine one of the place's, under a name.
func (p *place) link(t *testing.T, program, name string) {
	t.Helper()
	if err := os.Symlink(peer.Need(t, program), filepath.Join(p.bin, name)); err != nil {
		t.Fatal(err)
	}
}

// open opens a stream to the place's helper.
func (p *place) open(t *testing.T, shell ...string) io.ReadWriteCloser {
	t.Helper()
	stream, err := p.dialer(shell...).open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// refuses returns the error of opening a stream, which has to be of a kind and to contain texts.
func (p *place) refuses(t *testing.T, d *dialer, kind error, texts ...string) {
	t.Helper()
	stream, err := d.open(t.Context())
	if err == nil {
		t.Fatalf("it was opened: %v", stream.Close())
	}
	if kind != nil && !errors.Is(err, kind) {
		t.Errorf("error %v, want one that is %q", err, kind)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q lacks %q", err, text)
		}
	}
}

// holds checks how many files are in the directory of uploaded helpers.
func (p *place) holds(t *testing.T, want int) {
	t.Helper()
	list, err := os.ReadDir(p.uploaded())
	if len(list) != want || err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is %v, %v, want %d files", list, err, want)
	}
}

// uploaded returns the directory of uploaded helpers.
func (p *place) uploaded() string { return filepath.Join(p.home, ".cache", "attractor", "uploaded") }

// dialer returns a dialer to a shell that has the place's home and programs.
func (p *place) dialer(shell ...string) *dialer {
	command := append([]string{"env", "-u", "XDG_CACHE_HOME", "-u", "TMPDIR", "HOME=" + p.home,
		"PATH=" + p.bin + ":" + os.Getenv("PATH")}, shell...)
	return &dialer{command: command, options: DialOptions{
		Helper: func(context.Context, string, string) (string, error) { return p.helper, nil },
		Log:    func(line string) { p.said = append(p.said, line) },
	}}
}

// echo reads the first line of the program that stands for a helper, and sends it bytes that come
// back.
func echo(t *testing.T, stream io.ReadWriteCloser) (first string) {
	t.Helper()
	in := bufio.NewReader(stream)
	first, err := in.ReadString('\n')
	if err != nil {
		t.Fatalf("%q, %v", first, err)
	}
	const bytes = "\x00\x03\x04\r\n\xff and more"
	if _, err := io.WriteString(stream, bytes); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(bytes))
	if _, err := io.ReadFull(in, got); err != nil || string(got) != bytes {
		t.Errorf("%q came back, %v", got, err)
	}
	if err := stream.Close(); err != nil {
		t.Error(err)
	}
	return strings.TrimSpace(first)
}

// A helper is uploaded once, and found the next time, whatever the shell.
func TestO1_UploadedOnce(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"dash", "bash", "mksh", "busybox"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.link(t, shell, "sh")
			for i := range 2 {
				if first := echo(t, p.open(t)); !strings.HasPrefix(first, p.uploaded()) ||
					!strings.HasSuffix(first, " serve") {
					t.Errorf("%d: it was started as %q", i, first)
				}
			}
			if len(p.said) != 1 || !strings.Contains(p.said[0], p.helper) {
				t.Errorf("uploads %q", p.said)
			}
			p.holds(t, 1)
		})
	}
}

// What the shell's machine prints before is skipped, unless it does not end.
func TestO1_Noise(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.put(t, filepath.Join(p.bin, "noisy"), "#!/bin/sh\nhead -c $1 /dev/zero | tr '\\0' x; shift; exec \"$@\"\n")
	echo(t, p.open(t, "noisy", "300000"))
	p.refuses(t, p.dialer("noisy", "3000000"), nil, "no answer", "xxx...")
}

// Where head has no -c, dd takes the upload.
func TestO1_WithoutHead(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.put(t, filepath.Join(p.bin, "head"), "#!/bin/sh\nexit 1\n")
	echo(t, p.open(t))
	p.holds(t, 1)
}

// Without a program for SHA-256 there, the size is compared, and that is said. One with another
// result means that nothing is run.
func TestO1_Verified(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	trace := filepath.Join(p.home, "trace")
	p.put(t, p.helper, "#!/bin/sh\ntouch "+trace+"\n"+strings.TrimPrefix(fmt.Sprintf(talking, 1, 1), "#!/bin/sh\n"))
	p.put(t, filepath.Join(p.bin, "sha256sum"), "#!/bin/sh\necho 0123 -\n")
	p.refuses(t, p.dialer(), ErrNoHelper, "SHA-256 differs")
	p.holds(t, 0)
	if _, err := os.Lstat(trace); err == nil {
		t.Error("it was run")
	}
	for _, program := range []string{"sha256sum", "shasum", "openssl", "sha256"} {
		p.put(t, filepath.Join(p.bin, program), "#!/bin/sh\nexit 1\n")
	}
	echo(t, p.open(t))
	if len(p.said) != 3 || !strings.Contains(p.said[2], "size") {
		t.Errorf("said %q", p.said)
	}
}

// A stream that ends in the middle of an upload leaves nothing, and nothing is run, also without a
// program for SHA-256.
func TestO1_HalfAnUpload(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, program := range []string{"sha256sum", "shasum", "openssl", "sha256"} {
		p.put(t, filepath.Join(p.bin, program), "#!/bin/sh\nexit 1\n")
	}
	trace := filepath.Join(p.home, "trace")
	p.put(t, p.helper, "#!/bin/sh\ntouch "+trace+"\n"+strings.Repeat("#\n", 500_000)+fmt.Sprintf(talking, 1, 1))
	p.put(t, filepath.Join(p.bin, "half"), "#!/bin/sh\ndd bs=65536 count=8 2>/dev/null | \"$@\"\n")
	p.refuses(t, p.dialer("half"), nil)
	p.holds(t, 0)
	if _, err := os.Lstat(trace); err == nil {
		t.Error("it was run")
	}
}

// A program is run only from a directory that is the user's alone.
func TestO1_DirectoriesOfOthers(t *testing.T) {
	t.Parallel()
	for name, arrange := range map[string]func(p *place) error{
		"writable by others": func(p *place) error { return os.Chmod(p.uploaded(), 0o770) },
		"readable by others": func(p *place) error { return os.Chmod(p.uploaded(), 0o755) },
		"a link": func(p *place) error {
			err := os.Rename(p.uploaded(), p.home+"/elsewhere")
			return errors.Join(err, os.Symlink(p.home+"/elsewhere", p.uploaded()))
		},
		"a file": func(p *place) error {
			return errors.Join(os.Remove(p.uploaded()), os.WriteFile(p.uploaded(), nil, 0o600))
		},
		"another's": func(p *place) error { return os.Chown(p.uploaded(), 12345, -1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "another's" && os.Getuid() != 0 {
				t.Skip("not run: only root can give a directory away")
			}
			p := newPlace(t)
			if err := errors.Join(os.MkdirAll(p.uploaded(), 0o700), arrange(p)); err != nil {
				t.Fatal(err)
			}
			instead := t.TempDir()
			if first := echo(t, p.open(t, "env", "TMPDIR="+instead)); !strings.HasPrefix(first,
				instead+"/attractor-helpers-") {
				t.Errorf("it was started as %q", first)
			}
		})
	}
}

// Nothing is written into a directory, or run from it, that others can use since it was chosen.
func TestO1_OpenedMeanwhile(t *testing.T) {
	t.Parallel()
	// what runs after the directory was chosen, and after an uploaded helper was found
	for program, files := range map[string]int{"df": 0, "touch": 1} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			if files > 0 {
				echo(t, p.open(t))
			}
			p.put(t, filepath.Join(p.bin, program), "#!/bin/sh\nchmod 755 "+p.uploaded()+"\nexit 1\n")
			p.refuses(t, p.dialer(), ErrNoHelper,
				p.uploaded()+" is not a directory that only this user can use any more")
			p.holds(t, files)
		})
	}
}

// A helper whose directory has become another's is not run any more.
func TestO1_UploadedIsCheckedAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	echo(t, p.open(t))
	if err := os.Chmod(p.uploaded(), 0o777); err != nil {
		t.Fatal(err)
	}
	instead := t.TempDir()
	if first := echo(t, p.open(t, "env", "TMPDIR="+instead)); !strings.HasPrefix(first, instead) {
		t.Errorf("it was started as %q", first)
	}
}

// Of the uploaded helpers those that were used last are kept.
func TestO1_OldHelpersAreRemoved(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for version := range 5 {
		p.put(t, p.helper, fmt.Sprintf(talking, 1, 1)+fmt.Sprintf("# %d\n", version))
		echo(t, p.open(t))
	}
	p.holds(t, 3)
	for _, version := range []int{2, 5, 2} { // 2 is the oldest that is left, until it is used
		p.put(t, p.helper, fmt.Sprintf(talking, 1, 1)+fmt.Sprintf("# %d\n", version))
		echo(t, p.open(t))
	}
	if len(p.said) != 6 {
		t.Errorf("uploads %q", p.said)
	}
}

// A program in PATH over there is used if it speaks the protocol; otherwise one is uploaded.
func TestO1_InPath(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		uploads    int
		first      string
	}{
		{"attractor-remote", fmt.Sprintf(talking, 1, 9), 0, " serve"},
		{"attractor", "#!/bin/sh\n[ $1 = env ] || exit 2; shift\n" + fmt.Sprintf(talking, 0, 1), 0, " serve"},
		{"attractor-remote", fmt.Sprintf(talking, 0, 0), 1, " serve"},
		{"attractor-remote", fmt.Sprintf(talking, 2, 3), 1, " serve"},
		{"attractor", "#!/bin/sh\necho something else\n", 1, " serve"},
		{"attractor", "#!/bin/sh\necho attractor-env-protocol x y\n", 1, " serve"},
	} {
		p := newPlace(t)
		p.put(t, filepath.Join(p.bin, test.name), test.text)
		if first := echo(t, p.open(t)); !strings.HasSuffix(first, test.first) || len(p.said) != test.uploads {
			t.Errorf("%s %q: started as %q, uploads %q", test.name, test.text, first, p.said)
		}
	}
}

// The error of a machine without a helper says what is there and what to do.
func TestO1_NoHelper(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.put(t, filepath.Join(p.bin, "attractor-remote"), fmt.Sprintf(talking, 0, 0))
	d := p.dialer()
	d.options.Helper = nil
	p.refuses(t, d, ErrNoHelper, "versions 0 to 0", "1 to 1",
		"CGO_ENABLED=0 GOOS="+runtime.GOOS+" GOARCH="+runtime.GOARCH+" go install")
	d.options.Helper = func(context.Context, string, string) (string, error) { return "", errors.New("none\nat all") }
	p.refuses(t, d, ErrNoHelper, "none; at all")
	p.put(t, p.helper, fmt.Sprintf(talking, 2, 2))
	p.refuses(t, p.dialer(), ErrNoHelper, "versions 2 to 2")
	p.put(t, p.helper, "not a program")
	p.refuses(t, p.dialer(), ErrNoHelper, "does not run there")
}

// The helper is chosen for the machine over there.
func TestO1_AnotherMachine(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.put(t, filepath.Join(p.bin, "uname"), "#!/bin/sh\ncase $1 in -s) echo Linux ;; -m) echo aarch64 ;; esac\n")
	var asked []string
	d := p.dialer()
	d.options.Helper = func(_ context.Context, goos, goarch string) (string, error) {
		asked = append(asked, goos+" "+goarch)
		return p.helper, nil
	}
	stream, err := d.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if echo(t, stream); !slices.Equal(asked, []string{"linux arm64"}) {
		t.Errorf("asked for %q", asked)
	}
	p.put(t, filepath.Join(p.bin, "uname"), "#!/bin/sh\necho Plan9\n")
	p.refuses(t, p.dialer(), ErrNoHelper, "Plan9", "unknown")
}

// What goes wrong on the way there is told in the command's own words.
func TestO1_NoWayThere(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	peer.Need(t, "script")
	for name, test := range map[string]struct {
		command []string
		texts   []string
	}{
		"no program": {[]string{"no-such-command-here"}, []string{"no-such-command-here", "not found"}},
		"an error": {[]string{"sh", "-c", "echo first >&2; echo the box is closed >&2; exit 7"},
			[]string{"exit status 7", "first; the box is closed"}},
		"a signal":    {[]string{"sh", "-c", "kill -9 $$"}, []string{"killed"}},
		"no input":    {[]string{"sh", "-c", `exec "$0" </dev/null`}, []string{"exit status 0", "docker exec -i"}},
		"no shell":    {[]string{"cat"}, []string{"ended"}},
		"left behind": {[]string{"sh", "-c", "sleep 1000 & exit 3"}, []string{"exit status 3", "docker exec -i"}},
		"a terminal":  {[]string{"sh", "-c", "exec script -q -c sh /dev/null"}, []string{"terminal", "-t"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := p.dialer()
			d.command = test.command
			p.refuses(t, d, nil, test.texts...)
		})
	}
	d := p.dialer()
	d.command = []string{"sh", "-c", "echo the box is closed >&2; exit 7"}
	if _, err := d.open(t.Context()); err == nil || strings.Contains(err.Error(), "docker exec -i") {
		t.Errorf("a command that says why it ends: %v", err) // advice would hide it
	}
	if _, err := Dial(t.Context(), nil, DialOptions{}); err == nil {
		t.Error("an empty command leads somewhere")
	}
}

// A far side that answers without an end is left.
func TestO1_EndlessAnswer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.put(t, filepath.Join(p.bin, "endless"),
		"#!/bin/sh\nread -r marks; eval \"$marks\"\nwhile :; do printf '%s%s fact x\\n' $at_a $at_b; done\n")
	d := p.dialer("endless")
	d.options.Grace = -1
	p.refuses(t, d, nil, "more than 100 lines")
}

// Names over there cannot change the terminal here.
func TestO1_NamesInErrors(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	strange := filepath.Join(p.bin, "\x1b]0;title\x07")
	if err := os.Mkdir(strange, 0o700); err != nil {
		t.Fatal(err)
	}
	p.put(t, filepath.Join(strange, "attractor-remote"), fmt.Sprintf(talking, 9, 9))
	d := p.dialer("env", "PATH="+strange+":"+os.Getenv("PATH"))
	d.options.Helper = nil
	_, err := d.open(t.Context())
	if err == nil || !strings.Contains(err.Error(), "versions 9 to 9") ||
		strings.Contains(strings.TrimPrefix(err.Error(), strings.Join(d.command, " ")), "\x1b") {
		t.Errorf("error %q", err)
	}
}

// When a command has ended, its number can be that of another process, which gets no signal.
func TestO1_NumbersAreUsedAgain(t *testing.T) {
	t.Parallel()
	other := exec.Command("cat")
	ownGroup(other)
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	c, err := startConduit([]string{"true"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	<-c.ended
	c.cmd.Process.Pid = other.Process.Pid
	c.cut(errors.New("lost"))
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	_, err = io.WriteString(in, "alive")
	text := make([]byte, 5)
	if _, readErr := io.ReadFull(out, text); readErr != nil || err != nil {
		t.Errorf("the other process says %q, %v, %v", text, err, readErr)
	}
	if err := errors.Join(in.Close(), other.Wait()); err != nil {
		t.Error(err)
	}
}

// An upload removes what interrupted ones left long ago, and nothing below that directory.
func TestO1_LeftByInterruptedUploads(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	below := filepath.Join(p.uploaded(), "below")
	if err := os.MkdirAll(below, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"part-old", "probe-old", "part-new", "below/part-old"} {
		path = filepath.Join(p.uploaded(), path)
		p.put(t, path, "")
		if old := time.Now().Add(-72 * time.Hour); strings.HasSuffix(path, "old") {
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	echo(t, p.open(t))
	p.holds(t, 3) // the helper, part-new and below
	if _, err := os.Lstat(filepath.Join(below, "part-old")); err != nil {
		t.Error(err)
	}
}

// A command that says nothing is ended, also one that does not want to.
func TestO1_NoAnswer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.put(t, filepath.Join(p.bin, "mute"), "#!/bin/sh\ntrap '' TERM\necho waiting >&2\nwhile :; do sleep 1000; done\n")
	d := p.dialer("mute")
	d.options.Timeout = 3 * time.Second
	p.refuses(t, d, context.DeadlineExceeded, "no answer came for 3s", "waiting")

	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	p.put(t, filepath.Join(p.bin, "mute"), "#!/bin/sh\necho x >"+p.home+"/fifo\nexec sleep 1000\n")
	if err := syscall.Mkfifo(p.home+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := os.ReadFile(p.home + "/fifo") // until it has started
		cancel(errors.Join(gone, err))
	}()
	if _, err := p.dialer("mute").open(ctx); !errors.Is(err, gone) {
		t.Errorf("error %v", err)
	}
}

// apart makes a program of the place that runs a command where only /tmp and /var/tmp can be
// written, as file systems with some options.
func (p *place) apart(t *testing.T, options string) {
	t.Helper()
	unshare := peer.Need(t, "unshare") + " -rm"
	if out, err := exec.Command("unshare", "-rm", "true").CombinedOutput(); err != nil {
		t.Skipf("not run: no mount namespace can be made here: %v: %s", err, out)
	}
	p.put(t, filepath.Join(p.bin, "apart"), "#!/bin/sh\nexec "+unshare+` sh -c 'dir=${HOME%/home}
mount --bind "$dir" /mnt || exit
for place in /tmp /var/tmp; do mount -t tmpfs -o `+options+` none $place || exit; done
cd / && exec env HOME=/proc/none "PATH=/mnt/bin:$PATH" "$@"' sh "$@"
`)
}

// Where no directory can take and run a helper, the error says why for each.
func TestO1_NowhereToRun(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.apart(t, "noexec,mode=1777")
	p.refuses(t, p.dialer("apart"), ErrNoHelper, "/proc/none/.cache/attractor/uploaded: ", "/tmp/attractor-helpers-",
		"run in it", "/var/tmp/attractor-helpers-")
}

// A full disk is told before anything is sent if the system says so, and otherwise when it happens.
// Nothing is left or run.
func TestO1_FullDisk(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.put(t, p.helper, fmt.Sprintf(talking, 1, 1)+strings.Repeat("#\n", 500_000))
	p.apart(t, "size=200k,mode=1777")
	p.refuses(t, p.dialer("apart"), ErrNoHelper, "it has room for ", "KiB, and the helper has 977")

	p.put(t, filepath.Join(p.bin, "df"), "#!/bin/sh\nexit 1\n")
	p.refuses(t, p.dialer("apart"), ErrNoHelper, "cannot be written into /tmp/attractor-helpers-", "No space left")

	p.put(t, filepath.Join(p.bin, "limited"), "#!/bin/sh\nulimit -f 400\nexec \"$@\"\n")
	p.refuses(t, p.dialer("limited"), ErrNoHelper, "cannot be written into "+p.uploaded())
	p.holds(t, 0)
}

// Without a home directory a directory below /tmp is used.
func TestO1_WithoutHome(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.apart(t, "size=10m,mode=1777")
	if first := echo(t, p.open(t, "apart", "env", "-u", "HOME")); !strings.HasPrefix(first, "/tmp/attractor-helpers-") {
		t.Errorf("it was started as %q", first)
	}
}
