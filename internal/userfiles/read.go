package userfiles

import (
	"errors"
	"fmt"
	"io"
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
