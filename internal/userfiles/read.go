package userfiles

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Read reads at most limit bytes of a file of the user's. What is no regular file, such as a pipe,
// is an error, because opening it could block.
func Read(name string, limit int64) (data []byte, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, limit))
}
