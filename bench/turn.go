package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// turn measures a session with one answer, outside and inside a repository, in a home that was used
// before and in a new one.
func (b *bench) turn() (result, error) {
	all, missing, err := b.agents()
	if err != nil {
		return result{}, err
	}
	repository, err := b.repository()
	if err != nil {
		return result{}, err
	}
	inside := all[0].rounds(b, 0, repository)
	inside.name = "inside"
	first := all[0].first(b, 0)
	first.name = "first"
	contestants := []contestant{inside, first}
	for _, a := range all {
		contestants = append(contestants, a.rounds(b, 0, ""))
	}
	costs, err := b.interleave(b.sizes.runs, contestants...)
	if err != nil {
		return result{}, err
	}
	memory, err := b.interleave(min(3, b.sizes.runs), memories(contestants[2:])...)
	if err != nil {
		return result{}, err
	}
	loop := figureOf(costs["a bare loop 0"], cpuMS, "ms")
	r := result{rows: []row{
		{id: "K2", what: "a text turn outside a repository, CPU", ours: figureOf(costs[ourName+" 0"], cpuMS, "ms"),
			against: &loop, of: "a bare loop", goal: 1.6},
		{id: "K2", what: "a text turn inside a repository, CPU", ours: figureOf(costs["inside"], cpuMS, "ms"),
			against: &loop, of: "a bare loop", goal: 2.5},
		{id: "K2", what: "the first text turn in a new home, CPU", ours: figureOf(costs["first"], cpuMS, "ms"),
			against: &loop, of: "a bare loop", open: true}}}
	var rows [][]string
	for _, a := range all {
		s := costs[a.name+" 0"]
		if len(s) == 0 || len(memory[a.name+" 0"]) == 0 {
			missing = append(missing, a.name+" (failed)")
			continue
		}
		cpu := figureOf(s, cpuMS, "ms")
		rows = append(rows, []string{a.name, cpu.String(), number(cpu.least / loop.least),
			figureOf(s, wallMS, "ms").String(), figureOf(memory[a.name+" 0"], rssMB, "MiB").String()})
	}
	r.sections = []section{{"turn", table([]string{"a text turn", "CPU", "x bare loop", "wall",
		"peak memory of the largest process"}, rows) + notFound(missing)}}
	return r, nil
}

// notFound returns a sentence about programs that were not found.
func notFound(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("\nNot in PATH or not working here, so not measured: %s.\n", strings.Join(names, ", "))
}

// repository returns a clone of this repository.
func (b *bench) repository() (string, error) {
	dir := filepath.Join(b.temp, "repository")
	if path, ok := b.built[dir]; ok {
		return path, nil
	}
	if out, err := exec.CommandContext(b.ctx, "git", "clone", "-q", filepath.Dir(b.module),
		dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("git clone: %w\n%s", err, out)
	}
	if err := aged(dir); err != nil {
		return "", err
	}
	if out, err := exec.CommandContext(b.ctx, "git", "-C", dir, "update-index", "-q",
		"--refresh").CombinedOutput(); err != nil {
		return "", fmt.Errorf("git update-index: %w\n%s", err, out)
	}
	b.built[dir] = dir
	return dir, nil
}

// aged makes the files of a clone an hour old, as those of a repository in use are: git compares
// the contents of files that are as new as its index.
func aged(dir string) error {
	old := time.Now().Add(-time.Hour)
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == ".git":
			return filepath.SkipDir
		case d.Type().IsRegular():
			return os.Chtimes(name, old, old)
		}
		return nil
	})
}
