package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// brake is a file: while it is there, the sleep of the project's test does not end, so that what a
// person does while the test runs does not depend on the speed of the machine. The empty one stops
// nothing.
type brake string

// newBrake makes a sleep in a directory of PATH that waits, at most a minute, until the file beside
// it is gone.
func newBrake(bin string) (brake, error) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		return "", err
	}
	b := brake(filepath.Join(bin, "hold"))
	const script = "#!/bin/sh\ni=0\nwhile [ -e '%s' ] && [ $i -lt 1200 ]; do %s 0.05; i=$((i + 1)); done\nexec %[2]s " +
		"\"$@\"\n"
	return b, os.WriteFile(filepath.Join(bin, "sleep"), fmt.Appendf(nil, script, b, sleep), 0o755)
}

func (b brake) apply() {
	if b != "" {
		_ = os.WriteFile(string(b), nil, 0o666) // without it the scene plays at the machine's speed
	}
}

func (b brake) release() error {
	if b == "" {
		return nil
	}
	if err := os.Remove(string(b)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
