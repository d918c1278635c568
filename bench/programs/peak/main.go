//go:build unix

// Command peak runs a program and writes its maximum resident memory to a file, in bytes: peak FILE
// PROGRAM ARGS. It is small, because a system may count the memory of the process that starts a
// program as the program's.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
)

func main() {
	code, err := run(os.Args[1], os.Args[2], os.Args[3:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "peak:", err)
		os.Exit(125)
	}
	os.Exit(code)
}

func run(file, program string, args []string) (code int, err error) {
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		return 0, err
	}
	used, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, fmt.Errorf("this system does not report resource usage")
	}
	bytes := used.Maxrss
	if runtime.GOOS == "linux" { // in kilobytes there
		bytes <<= 10
	}
	return cmd.ProcessState.ExitCode(), os.WriteFile(file, []byte(strconv.FormatInt(bytes, 10)), 0o600)
}
