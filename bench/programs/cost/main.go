//go:build unix

// Command cost runs a program and writes what it and the processes that it waited for used to a
// file, as JSON: cost FILE PROGRAM ARGS. It is small, because a system may count the memory of the
// process that starts a program as the program's.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

func main() {
	code, err := run(os.Args[1], os.Args[2], os.Args[3:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(125)
	}
	os.Exit(code)
}

func run(file, program string, args []string) (code int, err error) {
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	began := time.Now()
	if err := cmd.Run(); cmd.ProcessState == nil {
		return 0, err
	}
	wall := time.Since(began)
	used, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, fmt.Errorf("this system does not report resource usage")
	}
	memory := float64(used.Maxrss)
	if runtime.GOOS == "linux" { // in kilobytes there
		memory *= 1024
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	out, err := json.Marshal(map[string]float64{"cpu": cpu.Seconds() * 1000, "wall": wall.Seconds() * 1000,
		"memory": memory / (1 << 20)})
	if err != nil {
		return 0, err
	}
	return cmd.ProcessState.ExitCode(), os.WriteFile(file, out, 0o600)
}
