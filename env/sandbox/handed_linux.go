package sandbox

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxArguments limits the arguments in a file for bubblewrap to what it takes, with some left for
// those on its command line.
const maxArguments = 8900

// handed collects the files that the program around a command gets. The command's variables go
// through one of them: in the program's own environment, LD_PRELOAD for instance would have its
// effect before there is a sandbox.
type handed struct {
	first int // the descriptor of the first file
	files []*os.File
	err   error
}

// file adds a file and returns its descriptor in the program.
func (h *handed) file(f *os.File) string {
	h.files = append(h.files, f)
	return strconv.Itoa(h.first + len(h.files) - 1)
}

// data adds a file in memory and returns its descriptor in the program.
func (h *handed) data(name string, data []byte) string {
	f, err := memory(name, data)
	if err != nil {
		h.err = errors.Join(h.err, err)
		return ""
	}
	return h.file(f)
}

// list adds a file with texts, each with a NUL at its end, and returns its descriptor in the
// program.
func (h *handed) list(name string, texts []string) string {
	var b strings.Builder
	for _, text := range texts {
		b.WriteString(text)
		b.WriteByte(0)
	}
	return h.data(name, []byte(b.String()))
}

// close closes the files and returns why the program does not start.
func (h *handed) close() error {
	err := h.err
	for _, f := range h.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// settings returns the arguments by which bubblewrap gives a command its variables.
func settings(variables []string) (args []string) {
	for _, entry := range variables {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" { // no program could find any other
			args = append(args, "--setenv", name, value)
		}
	}
	return args
}

// memory returns a file in memory, to be read from its beginning.
func memory(name string, data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(data); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if _, err := f.Seek(0, 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
