package journal

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// errDown is returned by every call after the simulated end of the process.
var errDown = errors.New("the process has ended")

// faults is a system that fails on demand and records what would survive a crash of the machine. It
// works on real files, but does not sync them.
type faults struct {
	disk
	fail func(c call) verdict // nil for no faults

	mu      sync.Mutex
	calls   []call
	down    bool
	opened  map[*faultFile]bool
	durable map[string]int64 // by path: how much of the file a sync has covered
	pending map[string]bool  // names that no sync of their directory has covered
}

// call describes one system call, numbered from 0.
type call struct {
	n    int
	op   string
	path string
	size int // of a write
}

// verdict decides the outcome of a call. The zero value lets it pass.
type verdict struct {
	err   error
	short int  // bytes of a failing write that get written
	crash bool // the process ends with it
}

func newFaults(fail func(c call) verdict) *faults {
	return &faults{fail: fail, opened: map[*faultFile]bool{}, durable: map[string]int64{}, pending: map[string]bool{}}
}

// enter records a call and returns its verdict. The caller holds the lock until the call has been
// made.
func (s *faults) enter(op, path string, size int) verdict {
	if s.down {
		return verdict{err: errDown}
	}
	c := call{n: len(s.calls), op: op, path: path, size: size}
	s.calls = append(s.calls, c)
	if s.fail == nil {
		return verdict{}
	}
	v := s.fail(c)
	if v.crash {
		v.err = errDown
	}
	return v
}

// crash releases what the kernel would release.
func (s *faults) crash() {
	s.down = true
	for f := range s.opened {
		f.handle.Close()
	}
	clear(s.opened)
}

func (s *faults) do(op, path string, run func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.enter(op, path, 0)
	if v.crash {
		s.crash()
	}
	if v.err != nil {
		return v.err
	}
	return run()
}

func (s *faults) open(path string, flag int) (handle, error) {
	f := &faultFile{sys: s, path: path}
	return f, s.do("open", path, func() (err error) {
		_, missing := os.Stat(path)
		if f.handle, err = s.disk.open(path, flag); err != nil {
			return err
		}
		if missing != nil {
			s.pending[path], s.durable[path] = true, 0
		}
		if flag&os.O_TRUNC != 0 {
			s.durable[path] = 0
		}
		s.opened[f] = true
		return nil
	})
}

func (s *faults) mkdir(path string) error {
	return s.do("mkdir", path, func() error {
		err := s.disk.mkdir(path)
		if err == nil {
			s.pending[path] = true
		}
		return err
	})
}

func (s *faults) stat(path string) (info fs.FileInfo, err error) {
	err = s.do("stat", path, func() (err error) { info, err = s.disk.stat(path); return err })
	return info, err
}

func (s *faults) readDir(path string) (list []fs.DirEntry, err error) {
	err = s.do("readdir", path, func() (err error) { list, err = s.disk.readDir(path); return err })
	return list, err
}

func (s *faults) rename(from, to string) error {
	return s.do("rename", to, func() error {
		s.durable[to], s.pending[to] = s.durable[from], true
		delete(s.pending, from)
		return s.disk.rename(from, to)
	})
}

func (s *faults) link(from, to string) error {
	return s.do("link", to, func() error {
		s.durable[to], s.pending[to] = s.durable[from], true
		return s.disk.link(from, to)
	})
}

func (s *faults) remove(path string) error {
	return s.do("remove", path, func() error { delete(s.pending, path); return s.disk.remove(path) })
}

func (s *faults) removeAll(path string) error {
	return s.do("removeall", path, func() error {
		maps.DeleteFunc(s.pending, func(p string, _ bool) bool { return p == path || filepath.Dir(p) == path })
		return s.disk.removeAll(path)
	})
}

func (s *faults) syncDir(path string) error {
	return s.do("syncdir", path, func() error {
		maps.DeleteFunc(s.pending, func(p string, _ bool) bool { return filepath.Dir(p) == path })
		return nil
	})
}

// survives reports whether a file, its name and its directory's name would survive a crash of the
// machine.
func (s *faults) survives(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := os.Stat(path)
	return err == nil && s.durable[path] == info.Size() && !s.pending[path] && !s.pending[filepath.Dir(path)]
}

// ops counts the calls of a kind by the end of their path.
func (s *faults) ops(op, ext string) int {
	n := 0
	for _, c := range s.calls {
		if c.op == op && strings.HasSuffix(c.path, ext) {
			n++
		}
	}
	return n
}

// left returns the files that are still open.
func (s *faults) left() []string {
	var paths []string
	for f := range s.opened {
		paths = append(paths, f.path)
	}
	return slices.Sorted(slices.Values(paths))
}

type faultFile struct {
	handle
	sys  *faults
	path string
}

func (f *faultFile) ReadAt(p []byte, at int64) (n int, err error) {
	err = f.sys.do("read", f.path, func() (err error) { n, err = f.handle.ReadAt(p, at); return err })
	return n, err
}

func (f *faultFile) WriteAt(p []byte, at int64) (int, error) {
	s := f.sys
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.enter("write", f.path, len(p))
	if v.err == nil {
		return f.handle.WriteAt(p, at)
	}
	if s.down {
		return 0, v.err
	}
	n, err := f.handle.WriteAt(p[:min(v.short, len(p))], at)
	if v.crash {
		s.crash()
	}
	return n, errors.Join(v.err, err)
}

func (f *faultFile) Truncate(size int64) error {
	return f.sys.do("truncate", f.path, func() error {
		f.sys.durable[f.path] = min(f.sys.durable[f.path], size)
		return f.handle.Truncate(size)
	})
}

func (f *faultFile) Stat() (info fs.FileInfo, err error) {
	err = f.sys.do("fstat", f.path, func() (err error) { info, err = f.handle.Stat(); return err })
	return info, err
}

// Close closes even when it fails, as the kernel does.
func (f *faultFile) Close() error {
	err := f.sys.do("close", f.path, func() error { return nil })
	f.sys.mu.Lock()
	defer f.sys.mu.Unlock()
	if f.sys.opened[f] {
		delete(f.sys.opened, f)
		err = errors.Join(err, f.handle.Close())
	}
	return err
}

func (f *faultFile) sync() error {
	return f.sys.do("sync", f.path, func() error {
		info, err := f.handle.Stat()
		if err == nil {
			f.sys.durable[f.path] = info.Size()
		}
		return err
	})
}

func (f *faultFile) lock(shared bool) error {
	return f.sys.do("lock", f.path, func() error { return f.handle.lock(shared) })
}

func (f *faultFile) unlock() error {
	return f.sys.do("unlock", f.path, func() error { return f.handle.unlock() })
}
