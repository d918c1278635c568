package env

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// localDir is an open directory of a Local. It was reached through os.Root. From there names are
// single elements and links are not followed, so every way leads down.
type localDir struct {
	fd   int
	dev  uint64 // of its file system, already checked
	name string // as the caller named it, for errors
	real string // for refuseKernelFiles

	listing sync.Mutex // the descriptor has a single position
	listed  bool       // the position is no longer at the beginning
}

// ended returns the cause of a context's end. Unlike context.Cause it takes no lock as long as the
// context has not ended.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}

// openDir opens a directory and keeps it open.
func (l *Local) openDir(ctx context.Context, name string) (Dir, error) {
	return withPlace(ctx, l, "opendir", name, true, func(p place) (Dir, error) {
		f, err := p.root.dir.OpenFile(p.rel, dirFlags, 0)
		if err != nil {
			return nil, err
		}
		d, err := duplicateDir(f)
		if closeErr := f.Close(); err == nil && closeErr != nil {
			err = errors.Join(closeErr, d.Close())
		}
		if err != nil {
			return nil, err
		}
		d.name, d.real = name, p.abs()
		return d, nil
	})
}

// duplicateDir returns a localDir with its own copy of f's descriptor.
func duplicateDir(f *os.File) (*localDir, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	d := &localDir{fd: fd}
	if d.dev, _, err = d.inspect(d.fd, unix.S_IFDIR); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// checkEntry refuses names that are not a single element.
func checkEntry(name string) error {
	if name == "" || name == "." || name == ".." || strings.IndexByte(name, '/') >= 0 ||
		strings.IndexByte(name, 0) >= 0 {
		return &nameError{"not the name of a directory entry"}
	}
	return nil
}

// openat opens an entry and refuses files of another kind.
func (d *localDir) openat(name string, flags int, kind uint32) (fd int, dev uint64, size int64, err error) {
	if err := checkEntry(name); err != nil {
		return -1, 0, 0, err
	}
	fd, err = restarted(func() (int, error) { return unix.Openat(d.fd, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0) })
	if err != nil {
		return -1, 0, 0, err
	}
	if dev, size, err = d.inspect(fd, kind); err != nil {
		return -1, 0, 0, errors.Join(err, unix.Close(fd))
	}
	return fd, dev, size, nil
}

// inspect refuses a descriptor of another kind or of a kernel file system. Only files on other file
// systems than the directory's need the second check.
func (d *localDir) inspect(fd int, kind uint32) (dev uint64, size int64, err error) {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return 0, 0, err
	}
	if stat.Mode&unix.S_IFMT != kind {
		return 0, 0, notRegular(fileMode(stat.Mode))
	}
	dev = uint64(stat.Dev)
	if dev != d.dev || d.dev == 0 {
		err = refuseKernelDescriptor(fd)
	}
	return dev, stat.Size, err
}

func (d *localDir) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := ended(ctx); err != nil {
		return nil, d.entryError("open", name, err)
	}
	fd, _, size, err := d.openat(name, openFlags, unix.S_IFREG)
	if err != nil {
		return nil, d.entryError("open", name, err)
	}
	return &localFile{fd: fd, size: size}, nil
}

func (d *localDir) OpenDir(ctx context.Context, name string) (Dir, error) {
	real := inside(d.real, name)
	err := ended(ctx)
	if err == nil {
		err = refuseKernelFiles(real)
	}
	if err != nil {
		return nil, d.entryError("opendir", name, err)
	}
	// O_DIRECTORY refuses a FIFO instead of waiting for its writer.
	fd, dev, _, err := d.openat(name, unix.O_RDONLY|unix.O_DIRECTORY, unix.S_IFDIR)
	if err != nil {
		return nil, d.entryError("opendir", name, err)
	}
	return &localDir{fd: fd, dev: dev, name: inside(d.name, name), real: real}, nil
}

func (d *localDir) Lstat(ctx context.Context, name string) (Node, error) {
	var stat unix.Stat_t
	err := ended(ctx)
	if err == nil {
		err = checkEntry(name)
	}
	if err == nil {
		err = unix.Fstatat(d.fd, name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		return Node{}, d.entryError("lstat", name, err)
	}
	return Node{
		Info:    Info{Name: name, Size: stat.Size, Mode: fileMode(stat.Mode), ModTime: time.Unix(stat.Mtim.Unix())},
		Changed: time.Unix(stat.Ctim.Unix()),
		Device:  uint64(stat.Dev), Inode: stat.Ino, Links: uint64(stat.Nlink),
	}, nil
}

func (d *localDir) Readlink(ctx context.Context, name string) (string, error) {
	err := ended(ctx)
	if err == nil {
		err = checkEntry(name)
	}
	var target string
	if err == nil {
		target, err = d.readlink(name)
	}
	if err != nil {
		return "", d.entryError("readlink", name, err)
	}
	return target, nil
}

// readlink returns the target of a link.
func (d *localDir) readlink(name string) (string, error) {
	var buf [unix.PathMax]byte
	n, err := restarted(func() (int, error) { return unix.Readlinkat(d.fd, name, buf[:]) })
	if errors.Is(err, unix.EINVAL) {
		err = fmt.Errorf("not a symbolic link: %w", fs.ErrInvalid)
	}
	return string(buf[:max(n, 0)]), err
}

// direct marks a directory whose operations are system calls; see Direct.
func (d *localDir) direct() {}

// Close closes the descriptor. A second call returns an error that wraps fs.ErrClosed.
func (d *localDir) Close() error { return closeOnce(&d.fd) }

func closeOnce(fd *int) error {
	if *fd < 0 {
		return fs.ErrClosed
	}
	err := unix.Close(*fd)
	*fd = -1
	return err
}

func (d *localDir) entryError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: inside(d.name, name), Err: err}
}

// inside returns the path of a directory's entry. Unlike path.Join it does not clean odd names.
func inside(dir, name string) string { return strings.TrimSuffix(dir, "/") + "/" + name }

// localFile reads a file by its descriptor. An os.File would register with the poller, which costs
// another system call.
type localFile struct {
	fd   int
	read int64
	size int64 // at the time of opening
}

// Read stops at the file's size, which saves the system call that reports EOF. It ignores a size of
// 0, which some file systems report for files with content.
func (f *localFile) Read(p []byte) (int, error) {
	if f.size > 0 {
		p = p[:min(int64(len(p)), f.size-f.read)]
	}
	n, err := restarted(func() (int, error) { return unix.Read(f.fd, p) })
	switch {
	case err != nil:
		return 0, err
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	if f.read += int64(n); f.read == f.size {
		err = io.EOF
	}
	return n, err
}

func (f *localFile) Close() error { return closeOnce(&f.fd) }

// restarted repeats a system call while signals interrupt it.
func restarted(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
