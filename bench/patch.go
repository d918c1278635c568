package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// patch measures a patch of many hunks, and changes to a file that is too large for the tools,
// which refuse it unread.
func (b *bench) patch() (result, error) {
	attractor, err := b.program("attractor")
	if err != nil {
		return result{}, err
	}
	large := filepath.Join(b.temp, "large.txt")
	line := "a line of a large file, of which there are very many\n"
	if err := os.WriteFile(large, bytes.Repeat([]byte(line), b.sizes.megabytes<<20/len(line)), 0o600); err != nil {
		return result{}, err
	}
	all := []contestant{b.applied("exact", attractor, func(line string) string { return line }),
		b.applied("other white space", attractor,
			func(line string) string { return "  " + strings.TrimSpace(line) + " " }),
		b.large("edit_file", attractor, large, map[string]string{"file_path": "large.txt",
			"old_string": "no line of it", "new_string": "x"}),
		b.large("apply_patch", attractor, large,
			map[string]string{"patch": "*** Begin Patch\n*** Update File: large.txt\n@@\n-no line of it\n+x\n*** End Patch\n"})}
	costs, err := b.interleave(b.sizes.runs, all...)
	if err != nil {
		return result{}, err
	}
	var r result
	for _, c := range all[:2] {
		r.rows = append(r.rows, row{id: "K7", what: c.name, ours: figureOf(costs[c.name], cpuMS, "ms"), goal: 60})
	}
	for _, c := range all[2:4] {
		s := costs[c.name]
		size := exact(float64(b.sizes.megabytes), "MiB")
		r.rows = append(r.rows, row{id: "K7", what: fmt.Sprintf("%s, a file of %d MiB: peak memory", c.name,
			b.sizes.megabytes),
			ours: figureOf(s, rssMB, "MiB"), against: &size, of: "the file", goal: 0.5})
	}
	return r, nil
}

// applied returns a contestant that applies a patch with many hunks. The model has copied the lines
// with some change.
func (b *bench) applied(name, attractor string, copied func(string) string) contestant {
	line := func(i int) string { return fmt.Sprintf("\tstep(ctx, 'number %d')", i) }
	var content, patch strings.Builder
	for i := range b.sizes.lines {
		content.WriteString(line(i) + "\n")
	}
	patch.WriteString("*** Begin Patch\n*** Update File: f\n")
	for n := range b.sizes.hunks {
		i := n * b.sizes.lines / b.sizes.hunks
		fmt.Fprintf(&patch, "@@\n %s\n-%s\n+%s\n %s\n", copied(line(i)), copied(line(i+1)), copied(line(-i)),
			copied(line(i+2)))
	}
	patch.WriteString("*** End Patch\n")
	return contestant{name: fmt.Sprintf("`attractor patch`, %d hunks, %d lines, %s, CPU", b.sizes.hunks, b.sizes.lines,
		name), command: func(dir string) *exec.Cmd {
		cmd := exec.Command(attractor, "patch")
		cmd.Stdin = strings.NewReader(patch.String())
		cmd.Err = os.WriteFile(filepath.Join(dir, "f"), []byte(content.String()), 0o600)
		return cmd
	}}
}

// large returns a contestant that calls a tool for a large file.
func (b *bench) large(tool, attractor, file string, args map[string]string) contestant {
	return contestant{name: tool, fails: true, memory: true, command: func(dir string) *exec.Cmd {
		data, err := json.Marshal(args)
		cmd := exec.Command(attractor, "tool", tool, string(data), "--profile", profiles[tool])
		if err == nil {
			err = os.Link(file, filepath.Join(dir, "large.txt"))
		}
		cmd.Err = err
		return cmd
	}}
}

// profiles holds the profiles that have the tools.
var profiles = map[string]string{"edit_file": "anthropic", "apply_patch": "openai"}
