//go:build linux

// Command attack makes the system calls of the attacks in the tests of package sandbox. It prints "GOT name" for what it was allowed to do,
// and otherwise the error. What it does is harmless if it is allowed.
//
//	attack NAME [argument...]
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// patience bounds every wait for a peer.
const patience = 2 * time.Second

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: attack NAME [argument...]")
		os.Exit(2)
	}
	name, args := os.Args[1], append(os.Args[2:], "", "", "", "")
	attack, ok := attacks()[name]
	if !ok {
		fmt.Fprintln(os.Stderr, "there is no attack", name)
		os.Exit(2)
	}
	if err := attack(args); err != nil {
		fmt.Println(name+":", err)
		os.Exit(1)
	}
	switch name {
	case "connect", "udp", "abstract", "proxy", "receive", "shm", "keyring", "vmread", "getfd": // what it reached says so
		fmt.Println("done:", name)
	default:
		fmt.Println("GOT", name)
	}
}

func attacks() map[string]func(args []string) error {
	return map[string]func([]string) error{
		"victim": victim, "listen": listen,
		"connect": connect, "udp": udp, "abstract": abstract, "proxy": proxy, "raw": raw, "vsock": vsock, "packet": packet, "netlink": netlink,
		"ptrace": ptrace, "vmread": vmread, "getfd": getfd, "pidfdsignal": pidfdsignal, "shm": shm, "makeshm": makeshm, "keyring": keyring, "makekey": makekey,
		"userns": userns, "clonens": clonens, "mounttmpfs": mountTmpfs, "opentree": openTree, "fsopen": fsopen, "chroot": chroot, "pivot": pivot, "setns": setns,
		"handle": handle, "io_uring": ioUring, "bpf": bpf, "perf": perf, "userfaultfd": userfaultfd, "fanotify": fanotify, "module": module,
		"kexec": kexec, "swapon": swapon, "clock": clock, "hostname": hostname, "reboot": reboot, "syslog": syslog, "iopl": iopl, "acct": acct,
		"tiocsti": tiocsti, "setuidfile": setuidFile, "openat2": openat2, "int80": x32, "dropcaps": capabilities, "memory": memory, "files": files,
		"receive": receive, "nice": priority,
	}
}

// errno returns an error for a failed system call.
func errno(e syscall.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

// permitted returns nil if a call that was made with useless arguments failed only because of them.
func permitted(e syscall.Errno) error {
	switch e {
	case unix.EPERM, unix.EACCES, unix.ENOSYS, unix.EOPNOTSUPP:
		return e
	}
	return nil
}

// victim is a process of the host: it has a secret in its memory, its environment and an open file, and prints the signals that it gets.
func victim(args []string) error {
	secret := []byte(args[0])
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGTERM, unix.SIGUSR1, unix.SIGHUP, unix.SIGINT, unix.SIGWINCH)
	fmt.Printf("%d %#x\n", os.Getpid(), &secret[0])
	for s := range signals {
		fmt.Println("signalled", s)
	}
	return errors.New(string(secret))
}

// listen accepts connections on a Unix socket and says so; it is a server that a command leaves running.
func listen(args []string) error {
	l, err := net.Listen("unix", args[0])
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		if err := c.Close(); err != nil {
			return err
		}
	}
}

// say connects and sends a line, and waits for the answer: a listener that counts it has then done so.
func say(network, address string) error {
	c, err := net.DialTimeout(network, address, patience)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := io.WriteString(c, "attack\n"); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 8))
	return err
}

func connect(args []string) error { return say(args[0], args[1]) }

func udp(args []string) error { return say("udp", args[0]) }

func abstract(args []string) error { return say("unix", "@"+args[0]) }

// proxy asks the proxy of the environment for a tunnel, or for a page if the target is a URL, and uses it.
func proxy(args []string) error {
	at, err := url.Parse(os.Getenv("HTTPS_PROXY"))
	if err != nil || at.Host == "" {
		return fmt.Errorf("no proxy: %v", err)
	}
	c, err := net.DialTimeout("tcp", at.Host, patience)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	request := "CONNECT " + args[0] + " HTTP/1.1\r\nHost: " + args[0] + "\r\n\r\n"
	if strings.Contains(args[0], "://") {
		request = "GET " + args[0] + " HTTP/1.1\r\nHost: " + args[1] + "\r\nConnection: close\r\n\r\n"
	}
	if _, err := io.WriteString(c, request); err != nil {
		return err
	}
	buf := make([]byte, 4096)
	n, err := c.Read(buf)
	if err != nil {
		return err
	}
	if !bytes.Contains(buf[:min(n, 20)], []byte(" 200")) {
		return fmt.Errorf("the proxy says %.80q", buf[:n])
	}
	if _, err := io.WriteString(c, "attack\n"); err != nil {
		return err
	}
	if n, err = c.Read(buf); err != nil {
		return err
	}
	fmt.Printf("%s\n", buf[:n])
	return nil
}

func raw([]string) error {
	_, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)
	return err
}

func packet([]string) error {
	_, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	return err
}

func vsock([]string) error {
	_, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
	return err
}

// netlink sets the loopback interface down and up again, in the network namespace in which it runs, if it may.
func netlink([]string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, lo); err != nil {
		return err
	}
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo) // to what it is
}

func pid(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

func ptrace(args []string) error {
	p := pid(args[0])
	if err := unix.PtraceSeize(p); err != nil {
		return err
	}
	fmt.Println("attached to", args[0])
	return nil
}

// vmread reads the secret from the memory of the victim.
func vmread(args []string) error {
	address, err := strconv.ParseUint(strings.TrimPrefix(args[1], "0x"), 16, 64)
	if err != nil {
		return err
	}
	buf := make([]byte, pid(args[2]))
	local := []unix.Iovec{{Base: &buf[0], Len: uint64(len(buf))}}
	_, err = unix.ProcessVMReadv(pid(args[0]), local, []unix.RemoteIovec{{Base: uintptr(address), Len: len(buf)}}, 0)
	if err != nil {
		return err
	}
	fmt.Printf("%s\n", buf)
	return nil
}

func getfd(args []string) error {
	p, err := unix.PidfdOpen(pid(args[0]), 0)
	if err != nil {
		return err
	}
	fd, err := unix.PidfdGetfd(p, 0, 0)
	if err != nil {
		return err
	}
	buf := make([]byte, 100)
	n, _ := unix.Pread(fd, buf, 0)
	fmt.Printf("%s\n", buf[:max(n, 0)])
	return nil
}

func pidfdsignal(args []string) error {
	p, err := unix.PidfdOpen(pid(args[0]), 0)
	if err != nil {
		return err
	}
	return unix.PidfdSendSignal(p, unix.SIGUSR1, nil, 0)
}

// makeshm makes a segment of System V shared memory with a text, and shm reads it.
func makeshm(args []string) error {
	id, err := unix.SysvShmGet(pid(args[0]), 4096, unix.IPC_CREAT|unix.IPC_EXCL|0o666)
	if err != nil {
		return err
	}
	data, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		return err
	}
	copy(data, args[1])
	fmt.Println("id", id)
	return nil
}

func shm(args []string) error {
	id, err := unix.SysvShmGet(pid(args[0]), 4096, 0)
	if err != nil {
		return err
	}
	data, err := unix.SysvShmAttach(id, 0, unix.SHM_RDONLY)
	if err != nil {
		return err
	}
	fmt.Printf("%s\n", bytes.TrimRight(data, "\x00"))
	return nil
}

// makekey puts a key into the user's keyring, and keyring reads it.
func makekey(args []string) error {
	id, err := unix.AddKey("user", args[0], []byte(args[1]), unix.KEY_SPEC_USER_KEYRING)
	if err != nil {
		return err
	}
	const everybody = 0x3f3f3f3f
	if err := unix.KeyctlSetperm(id, everybody); err != nil {
		return err
	}
	fmt.Println("id", id)
	return nil
}

func keyring(args []string) error {
	for _, ring := range []int{unix.KEY_SPEC_USER_KEYRING, unix.KEY_SPEC_SESSION_KEYRING, unix.KEY_SPEC_USER_SESSION_KEYRING} {
		if id, err := unix.KeyctlSearch(ring, "user", args[0], 0); err == nil {
			args[1] = strconv.Itoa(id)
		}
	}
	buf := make([]byte, 200)
	n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, pid(args[1]), buf, len(buf))
	if err != nil {
		return err
	}
	fmt.Printf("%s\n", buf[:min(n, len(buf))])
	return nil
}

// userns starts a program in a user namespace, in which it has all capabilities.
func userns([]string) error {
	cmd := exec.Command("/bin/sh", "-c", ":")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
	return cmd.Run()
}

func clonens([]string) error {
	_, _, e := syscall.RawSyscall(unix.SYS_UNSHARE, unix.CLONE_NEWNS|unix.CLONE_NEWNET, 0, 0)
	return errno(e)
}

func mountTmpfs(args []string) error { return unix.Mount("none", args[0], "tmpfs", 0, "size=4k") }

func openTree(args []string) error {
	_, err := unix.OpenTree(unix.AT_FDCWD, args[0], unix.OPEN_TREE_CLONE)
	return err
}

func fsopen([]string) error {
	_, err := unix.Fsopen("tmpfs", 0)
	return err
}

func chroot(args []string) error { return unix.Chroot(args[0]) }

func pivot(args []string) error {
	return permitted(asErrno(unix.PivotRoot(args[0]+"/no", args[0]+"/where")))
}

func asErrno(err error) syscall.Errno {
	var e syscall.Errno
	if errors.As(err, &e) {
		return e
	}
	return 0
}

func setns(args []string) error {
	f, err := os.Open("/proc/" + args[0] + "/ns/mnt")
	if err != nil {
		return err
	}
	return permitted(asErrno(unix.Setns(int(f.Fd()), unix.CLONE_NEWUTS))) // of another kind, so it fails for that if it is permitted
}

// handle opens the root of the file system that contains a directory, by its handle.
func handle(args []string) error {
	h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, args[0], 0)
	if err != nil {
		return err
	}
	dir, err := os.Open(args[0])
	if err != nil {
		return err
	}
	_, err = unix.OpenByHandleAt(int(dir.Fd()), h, unix.O_RDONLY)
	return err
}

func ioUring([]string) error {
	var params [120]byte
	_, _, e := syscall.Syscall(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params[0])), 0)
	return errno(e)
}

func bpf([]string) error {
	attr := struct{ kind, key, value, max uint32 }{2, 4, 4, 1} // an array with one entry
	_, _, e := syscall.Syscall(unix.SYS_BPF, unix.BPF_MAP_CREATE, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	return errno(e)
}

func perf([]string) error {
	_, err := unix.PerfEventOpen(&unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: unix.PERF_COUNT_SW_CPU_CLOCK,
		Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}, 0, -1, -1, 0)
	return err
}

func userfaultfd([]string) error {
	const userModeOnly = 1
	_, _, e := syscall.Syscall(unix.SYS_USERFAULTFD, userModeOnly, 0, 0)
	return errno(e)
}

func fanotify([]string) error {
	_, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF, 0)
	return err
}

func module([]string) error {
	_, _, e := syscall.Syscall(unix.SYS_INIT_MODULE, 0, 0, 0)
	return permitted(e)
}

func kexec([]string) error {
	const tooMany = 1 << 20
	_, _, e := syscall.Syscall6(unix.SYS_KEXEC_LOAD, 0, tooMany, 0, 0, 0, 0)
	return permitted(e)
}

func swapon(args []string) error {
	path, err := syscall.BytePtrFromString(args[0] + "/no-such-file")
	if err != nil {
		return err
	}
	_, _, e := syscall.Syscall(unix.SYS_SWAPON, uintptr(unsafe.Pointer(path)), 0, 0)
	return permitted(e)
}

// clock sets the time zone of the kernel to what it is.
func clock([]string) error {
	var zone [2]int32
	var now unix.Timeval
	if _, _, e := syscall.Syscall(unix.SYS_GETTIMEOFDAY, uintptr(unsafe.Pointer(&now)), uintptr(unsafe.Pointer(&zone)), 0); e != 0 {
		return e
	}
	_, _, e := syscall.Syscall(unix.SYS_SETTIMEOFDAY, 0, uintptr(unsafe.Pointer(&zone)), 0)
	return errno(e)
}

func hostname([]string) error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	return unix.Sethostname([]byte(name))
}

func reboot([]string) error {
	const bad = 0x1234
	_, _, e := syscall.Syscall6(unix.SYS_REBOOT, bad, bad, bad, 0, 0, 0)
	return permitted(e)
}

// syslog reads the kernel's messages.
func syslog([]string) error {
	const readAll = 3
	_, err := unix.Klogctl(readAll, make([]byte, 100))
	return err
}

func iopl([]string) error {
	_, _, e := syscall.RawSyscall(ioplNumber, 3, 0, 0)
	return errno(e)
}

func acct([]string) error {
	path, err := syscall.BytePtrFromString("/no-such-file")
	if err != nil {
		return err
	}
	_, _, e := syscall.Syscall(unix.SYS_ACCT, uintptr(unsafe.Pointer(path)), 0, 0)
	return permitted(e)
}

// tiocsti types a letter into a terminal.
func tiocsti(args []string) error {
	fd, err := unix.Open(args[0], unix.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	letter := byte('x')
	_, _, e := syscall.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCSTI, uintptr(unsafe.Pointer(&letter)))
	return errno(e)
}

// setuidFile makes a program that runs as its owner, in several ways.
func setuidFile(args []string) error {
	for i, make := range []func(name string) error{
		func(name string) error { return os.Chmod(name, 0o755|os.ModeSetuid) },
		func(name string) error { return unix.Fchmodat(unix.AT_FDCWD, name, 0o4755, 0) },
		func(name string) error {
			path, err := syscall.BytePtrFromString(name)
			if err != nil {
				return err
			}
			_, _, e := syscall.Syscall6(unix.SYS_FCHMODAT2, ^uintptr(99), uintptr(unsafe.Pointer(path)), 0o4755, 0, 0, 0)
			return errno(e)
		},
		func(name string) error {
			fd, err := unix.Open(name, unix.O_WRONLY, 0)
			if err != nil {
				return err
			}
			return errors.Join(unix.Fchmod(fd, 0o4755), unix.Close(fd))
		},
		func(name string) error {
			fd, err := unix.Open(name+".new", unix.O_WRONLY|unix.O_CREAT, 0o4755)
			if err != nil {
				return err
			}
			return unix.Close(fd)
		},
		func(name string) error {
			fd, err := unix.Creat(name+".created", 0o4755)
			if err != nil {
				return err
			}
			return unix.Close(fd)
		},
		func(name string) error { return unix.Mknod(name+".node", unix.S_IFREG|0o4755, 0) },
		func(name string) error {
			fd, err := unix.Openat2(unix.AT_FDCWD, name+".how", &unix.OpenHow{Flags: unix.O_WRONLY | unix.O_CREAT, Mode: 0o4755})
			if err != nil {
				return err
			}
			return unix.Close(fd)
		},
	} {
		name := filepath.Join(args[0], "setuid"+strconv.Itoa(i))
		if err := os.WriteFile(name, nil, 0o755); err != nil {
			return err
		}
		if err := make(name); err != nil {
			fmt.Println(i, err)
		}
	}
	return errors.New("see the files")
}

// openat2 opens a file outside by a path through a link of /proc.
func openat2(args []string) error {
	fd, err := unix.Openat2(unix.AT_FDCWD, "/proc/self/root"+args[0], &unix.OpenHow{Flags: unix.O_WRONLY | unix.O_CREAT, Mode: 0o644})
	if err != nil {
		return err
	}
	_, err = unix.Write(fd, []byte("attack\n"))
	return err
}

// x32 makes a system call of another architecture, for which a filter may have no rule.
func x32([]string) error {
	const bit = 0x40000000
	_, _, e := syscall.RawSyscall(bit+39, 0, 0, 0) // getpid of x32 on amd64
	return errno(e)
}

// capabilities succeeds if this process has a capability that reaches beyond its own files, or can get one.
func capabilities([]string) error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&head, &caps[0]); err != nil {
		return err
	}
	const files = 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_CHOWN
	noNew, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil {
		return err
	}
	held := caps[0].Permitted | caps[0].Effective | caps[0].Inheritable
	if more := held &^ files; more != 0 || caps[1].Permitted != 0 || noNew != 1 {
		fmt.Printf("capabilities %#x %#x, no new privileges %d\n", held, caps[1].Permitted, noNew)
		return nil
	}
	return errors.New("none")
}

// memory needs a number of MiB.
func memory(args []string) error {
	data := make([]byte, pid(args[0])<<20)
	for i := 0; i < len(data); i += 4096 {
		data[i] = 1
	}
	return nil
}

// files opens many files.
func files(args []string) error {
	for range pid(args[0]) {
		if _, err := unix.Open("/dev/null", unix.O_RDONLY, 0); err != nil {
			return err
		}
	}
	return nil
}

// receive takes a descriptor from a Unix socket and writes a file below that directory.
func receive(args []string) error {
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: args[0], Net: "unix"})
	if err != nil {
		return err
	}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	control := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := c.ReadMsgUnix(make([]byte, 1), control)
	if err != nil {
		return err
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil || len(messages) == 0 {
		return fmt.Errorf("no descriptor: %v", err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return err
	}
	fd, err := unix.Openat(fds[0], "new", unix.O_WRONLY|unix.O_CREAT, 0o644)
	if err != nil {
		return err
	}
	_, err = unix.Write(fd, []byte("attack\n"))
	return err
}

func priority([]string) error { return unix.Setpriority(unix.PRIO_PROCESS, 0, -20) }
