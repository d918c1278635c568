package main

import (
	"runtime"
	"strings"
)

// tools compares running commands and editing files with the least that does the same, by
// benchmarks of the packages.
func (b *bench) tools() (result, error) {
	shell, err := b.benchmarks("env", "^BenchmarkShell$", b.sizes.times)
	if err != nil {
		return result{}, err
	}
	capture, err := b.benchmarks("env", "^BenchmarkCapture$/^("+strings.Join(b.sizes.outputs, "|")+")$", 1)
	if err != nil {
		return result{}, err
	}
	edit, err := b.benchmarks("tool/coding", "^BenchmarkC5_Edit$", b.sizes.times)
	if err != nil {
		return result{}, err
	}
	var rows [][]string
	add := func(m metrics, name, unit, what, against string) error {
		if len(m[name]) == 0 && runtime.GOOS != "linux" { // a level of containment that this system lacks
			return nil
		}
		f, err := m.figure(name, unit, 1, "")
		rows = append(rows, []string{what, against, f.String()})
		return err
	}
	for _, level := range []struct{ name, what string }{{"cgroup+pidns",
		"a command, in a cgroup and a shared PID namespace"}, {"cgroup", "in a cgroup"},
		{"group", "in a process group"},
		{"pidns", "in a PID namespace of its own"}} {
		if err := add(shell, "Shell/"+level.name, "ratio", level.what, "a bare `bash -c`"); err != nil {
			return result{}, err
		}
	}
	for _, kind := range b.sizes.outputs {
		if err := add(capture, "Capture/"+kind, "ratio",
			"1 GiB of output ("+kind+") kept as head, tail and exact counts", "discarding it"); err != nil {
			return result{}, err
		}
	}
	for _, kind := range []string{"exact", "exact-utf8"} {
		if err := add(edit, "C5_Edit/"+kind, "times-copy", "edit_file's matching in 10 MB ("+kind+")",
			"copying them"); err != nil {
			return result{}, err
		}
	}
	return result{sections: []section{{"tools", table([]string{"", "compared with", "ratio of CPU"}, rows)}}}, nil
}
