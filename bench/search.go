package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// searches lists what is searched for, with the goal as a multiple of ripgrep.
var searches = []struct {
	name, pattern string
	goal          float64
	flags         []string
}{
	{"literal", `ErrUnexpectedEOF`, 1.15, nil},
	{"ignoring case", `errunexpectedeof`, 1.15, []string{"-i"}},
	{"8 alternatives", `alpha|bravo|charlie|delta|echo|foxtrot|golf|hotel`, 1.5, nil},
	{"no literal", `[A-Z]{5}\d{3}`, 1.15, nil},
	{"no match", `nowhere_to_be_found`, 1.15, nil},
}

// search measures grep and glob as processes, beside ripgrep and fd, on Go's own sources and on a
// tree of many small files.
func (b *bench) search() (result, error) {
	if _, err := exec.LookPath("rg"); err != nil {
		return result{rows: []row{{id: "K10", what: "grep and glob", note: "ripgrep is not installed"}}}, nil
	}
	find, err := b.program("find")
	if err != nil {
		return result{}, err
	}
	goroot, err := exec.CommandContext(b.ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return result{}, err
	}
	small, err := b.smallFiles()
	if err != nil {
		return result{}, err
	}
	var r result
	for _, tree := range []struct{ name, dir string }{{"Go's sources", filepath.Join(strings.TrimSpace(string(goroot)),
		"src")},
		{fmt.Sprintf("%d small files", b.sizes.files), small}} {
		rows, err := b.tree(find, tree.name, tree.dir)
		if err != nil {
			return r, err
		}
		r.rows = append(r.rows, rows...)
	}
	r.sections = []section{searchTable(r.rows)}
	return r, nil
}

// searchTable returns the rows without their goals.
func searchTable(rows []row) section {
	var cells [][]string
	for _, r := range rows {
		cells = append(cells, []string{strings.TrimSuffix(r.what, ", CPU"), r.of, number(r.ratio())})
	}
	return section{"search", table([]string{"", "compared with", "ratio of CPU"}, cells)}
}

// tree measures all searches in a tree.
func (b *bench) tree(find, name, dir string) ([]row, error) {
	in := func(name string, fails bool, args ...string) contestant {
		return contestant{name: name, fails: fails, quiet: true, command: func(string) *exec.Cmd {
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Dir = dir
			return cmd
		}}
	}
	rg := []string{"rg", "--no-config", "--hidden", "--no-require-git", "--glob", "!.git"}
	var all []contestant
	for _, s := range searches {
		all = append(all, in(s.name, false, append([]string{find, "grep", s.pattern}, s.flags...)...),
			in("rg "+s.name, true, append(append(rg[:len(rg):len(rg)], s.flags...), "--line-number", "-e", s.pattern,
				".")...)) // exits with 1 without a match
	}
	fd := b.fd()
	for glob, pattern := range globs {
		list := append(rg[:len(rg):len(rg)], "--files", "--glob", strings.TrimPrefix(pattern, "**/"))
		all = append(all, in(glob, false, find, "glob", pattern), in("rg "+glob, false, list...),
			in("rg sorted "+glob, false, append(list[:len(list):len(list)], "--sortr", "modified")...))
		if fd != "" {
			all = append(all, in("fd "+glob, false, fd, "--hidden", "--exclude", ".git", "--type", "f", "--glob",
				strings.TrimPrefix(pattern, "**/")))
		}
	}
	costs, err := b.interleave(b.sizes.trees, all...)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, s := range searches {
		against := figureOf(costs["rg "+s.name], cpuMS, "ms")
		rows = append(rows, row{id: "K10", what: fmt.Sprintf("grep, %s, %s, CPU", s.name, name),
			ours: figureOf(costs[s.name], cpuMS, "ms"), against: &against, of: "rg", goal: s.goal})
	}
	for _, glob := range []string{"by suffix", "everything"} {
		best, of := figureOf(costs["rg "+glob], cpuMS, "ms"), "rg --files"
		if s := costs["fd "+glob]; len(s) > 0 && figureOf(s, cpuMS, "ms").least < best.least {
			best, of = figureOf(s, cpuMS, "ms"), "fd"
		}
		sorted := figureOf(costs["rg sorted "+glob], cpuMS, "ms")
		ours := row{id: "K10", what: fmt.Sprintf("glob, %s, %s, CPU", glob, name), ours: figureOf(costs[glob], cpuMS,
			"ms"), goal: 1}
		unlike, alike := ours, ours
		unlike.against, unlike.of = &best, of+", unsorted"
		alike.against, alike.of = &sorted, "rg --files --sortr modified" // newest first, like ours
		rows = append(rows, unlike, alike)
	}
	return rows, nil
}

var globs = map[string]string{"by suffix": "**/*_test.go", "everything": "**"}

// fd returns the name of fd, which Debian calls fdfind, or nothing.
func (b *bench) fd() string {
	for _, name := range []string{"fdfind", "fd"} {
		if _, err := exec.LookPath(name); err == nil {
			return name
		}
	}
	return ""
}

// smallFiles makes a tree of many small files, a hundred to a directory.
func (b *bench) smallFiles() (string, error) {
	root := filepath.Join(b.temp, "small")
	for i := range b.sizes.files {
		dir := filepath.Join(root, fmt.Sprintf("d%02d", i/10_000), fmt.Sprintf("d%02d", i/100%100))
		if i%100 == 0 {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return "", err
			}
		}
		suffix := ".txt"
		if i%5 == 0 {
			suffix = "_test.go"
		}
		text := fmt.Sprintf("This is file number %d.\nIt has three lines,\nand little in them.\n", i)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d%s", i, suffix)), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	return root, nil
}
