package env

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// localDir is a directory by its descriptor. It was reached through os.Root, and from it there is only a way down: every name is
// one element, and links are not followed.
type localDir struct {
	fd   int
	dev  uint64 // of its file system, which was looked at
	name string // as the caller named it, for errors
	real string // for refuseKernelFiles

	listing sync.Mutex // the descriptor has one position
}

// openDir opens a directory to stay open.
func (l *Local) openDir(ctx context.Context, name string) (Dir, error) {
	return reach(ctx, l, "opendir", name, true, func(p place) (Dir, error) {
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

// duplicateDir makes a descriptor of our own of an os.File's.
func duplicateDir(f *os.File) (*localDir, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	d := &localDir{}
	var dupErr error
	err = conn.Control(func(fd uintptr) { d.fd, dupErr = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	if err := errors.Join(err, dupErr); err != nil {
		return nil, err
	}
	if d.dev, _, err = d.inspect(d.fd, unix.S_IFDIR); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// checkEntry refuses what is no single element below the directory.
func checkEntry(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return &nameError{"it is not the name of a directory's entry"}
	}
	return nil
}

// openat opens an entry and refuses what is not of the wanted kind.
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

// inspect refuses a descriptor that is not of a kind, or of one of the kernel's own file systems. What is of the directory's
// file system needs no second look.
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
	if err := context.Cause(ctx); err != nil {
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
	err := context.Cause(ctx)
	if err == nil {
		err = refuseKernelFiles(real)
	}
	if err != nil {
		return nil, d.entryError("opendir", name, err)
	}
	// With O_DIRECTORY a FIFO is refused before anybody would wait for its writer.
	fd, dev, _, err := d.openat(name, unix.O_RDONLY|unix.O_DIRECTORY, unix.S_IFDIR)
	if err != nil {
		return nil, d.entryError("opendir", name, err)
	}
	return &localDir{fd: fd, dev: dev, name: inside(d.name, name), real: real}, nil
}

func (d *localDir) Stat(ctx context.Context, name string) (Info, error) {
	var stat unix.Stat_t
	err := errors.Join(context.Cause(ctx), checkEntry(name))
	if err == nil {
		err = unix.Fstatat(d.fd, name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		return Info{}, d.entryError("stat", name, err)
	}
	return Info{Name: name, Size: stat.Size, Mode: fileMode(stat.Mode), ModTime: time.Unix(stat.Mtim.Unix())}, nil
}

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

// inside is the path of a directory's entry. Unlike path.Join it leaves odd names as they are.
func inside(dir, name string) string { return strings.TrimSuffix(dir, "/") + "/" + name }

// localFile reads a file by its descriptor. An os.File would try to wait for it with the poller, which is one more call to the
// system for each.
type localFile struct {
	fd   int
	read int64
	size int64 // when it was opened
}

// Read ends with the size that the file had, which saves a call that says so. A size of 0 is not believed: some file systems
// give it to files with content.
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

// restarted makes a call to the system again until no signal has interrupted it.
func restarted(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
