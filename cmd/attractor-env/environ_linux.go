package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// maxEnviron limits the variables of a command, in bytes. No kernel takes as many.
const maxEnviron = 64 << 20

// environ returns a command's variables, and makes its PATH this program's. They come from a file,
// each with a NUL at its end, because in this program's own environment they would have their
// effect before the command is confined. Without a file, below zero, they are this program's.
func environ(fd int) ([]string, error) {
	if fd < 0 {
		return os.Environ(), nil
	}
	given, err := readEnviron(fd)
	if err != nil {
		return nil, err
	}
	all := (&exec.Cmd{Env: append(os.Environ(), given...)}).Environ() // of which the last with a name counts
	for _, entry := range all {
		if path, ok := strings.CutPrefix(entry, "PATH="); ok {
			err = os.Setenv("PATH", path)
		}
	}
	return all, err
}

// readEnviron reads variables from a descriptor and closes it.
func readEnviron(fd int) (variables []string, err error) {
	f := os.NewFile(uintptr(fd), "environ")
	if f == nil {
		return nil, fmt.Errorf("the descriptor %d of the variables is not open", fd)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxEnviron))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	for entry := range bytes.SplitSeq(data, []byte{0}) {
		if len(entry) > 0 {
			variables = append(variables, string(entry))
		}
	}
	return variables, nil
}
