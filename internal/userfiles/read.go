package userfiles

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Read reads at most limit bytes of a file of the user's. What is no regular file, such as a pipe,
// is an error, because reading it could block.
func Read(name string, limit int64) (data []byte, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is not a regular file", name))
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// ReadSettings is [Read] for a file whose loss would change what is allowed: a link to nothing is
// an error that is no [fs.ErrNotExist].
func ReadSettings(name string, limit int64) ([]byte, error) {
	data, err := Read(name, limit)
	if !errors.Is(err, fs.ErrNotExist) {
		return data, err
	}
	if to, linkErr := os.Readlink(name); linkErr == nil {
		return nil, fmt.Errorf("%s is a link to %s, which is not there: restore that, or remove the link", name, to)
	}
	return nil, err
}
