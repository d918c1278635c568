package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Write replaces a file, or makes it. Only the user may read the new file, whatever the mode of the
// old one was. If it fails, the file stays as it was. A process that is killed meanwhile may leave
// a file beside it whose name begins with .attractor- and ends with .tmp.
func Write(name string, data []byte) error {
	return WriteFunc(name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteFunc is like Write with a function that writes the content.
func WriteFunc(name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".attractor-*.tmp") // with mode 0600
	if err != nil {
		if of, ok := errors.AsType[*fs.PathError](err); ok {
			of.Path = name // nobody knows the other one
		}
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// SyncDir makes the names in a directory durable. On Windows it does nothing: directories cannot be
// flushed there, and the file system logs changes of names itself.
func SyncDir(path string) (err error) {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Sync()
}
