package shell

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// Changes returns the files that a command changes, as far as its program is known here and its
// words are literal. It serves to deny: it may list a file that the command leaves alone, and
// misses what the arguments do not say. Tree is set where everything in a directory may change.
func Changes(ctx context.Context, e env.Environment, c Command) []File {
	words, _, why := expand(ctx, e, c)
	if why != "" {
		words = c.Words
	}
	x := &changes{ctx: ctx, env: e, dir: c.Dir}
	x.program(path.Base(words[0]), words[1:])
	return x.files
}

// changes collects the files that a command changes.
type changes struct {
	ctx   context.Context
	env   env.Environment
	dir   string
	files []File
}

func (x *changes) add(tree bool, names ...string) {
	for _, name := range names {
		if p, ok := absolute(x.dir, name); ok && name != "" && name != "-" {
			x.files = append(x.files, File{Path: p, Tree: tree})
		}
	}
}

// program adds what a program changes with some arguments.
func (x *changes) program(name string, args []string) {
	operands := plainWords(args)
	switch name {
	case "tee", "rmdir", "unlink", "touch", "mkdir", "truncate", "shred", "gzip", "gunzip", "bzip2", "xz", "zstd":
		x.add(false, operands...)
	case "rm", "chmod", "chown", "chgrp":
		x.add(true, operands...)
	case "cp", "install", "ln", "rsync":
		x.copies(args, operands)
	case "mv":
		x.add(true, operands...)
		x.copies(args, operands)
	case "sed", "perl", "ruby", "yq", "clang-format":
		if hasOption(args, "i", "--in-place", "--inplace") {
			x.add(false, operands...)
		}
	case "gofmt", "goimports", "prettier":
		if hasOption(args, "w", "--write") {
			x.add(true, operands...)
		}
	case "sort", "tree", "base64":
		x.add(false, valuesOf(args, "o", "--output")...)
	case "git":
		x.git(args)
	case "curl", "wget":
		x.add(false, valuesOf(args, map[string]string{"curl": "o", "wget": "O"}[name], "--output")...)
	case "uniq", "xxd":
		x.add(false, operands[min(1, len(operands)):]...)
	case "patch":
		x.add(false, operands[:min(1, len(operands))]...)
		x.add(false, valuesOf(args, "o", "--output")...)
	case "dd":
		for _, a := range args {
			if file, ok := strings.CutPrefix(a, "of="); ok {
				x.add(false, file)
			}
		}
	case "find":
		x.find(args)
	}
}

// copies adds what cp and the like write: the last operand or the value of -t, which may be a
// directory.
func (x *changes) copies(args, sources []string) {
	targets := valuesOf(args, "t", "--target-directory")
	if len(targets) == 0 && len(sources) > 1 {
		targets, sources = sources[len(sources)-1:], sources[:len(sources)-1]
	}
	for _, target := range targets {
		x.add(false, target)
		if name, ok := absolute(x.dir, target); ok {
			if info, err := x.env.Stat(x.ctx, name); err == nil && !info.IsDir() {
				continue
			}
		}
		for _, source := range sources {
			x.add(false, target+"/"+path.Base(source))
		}
	}
}

// find adds what the actions of find delete and write.
func (x *changes) find(args []string) {
	for i, a := range args {
		switch {
		case a == "-delete":
			tops, _ := findTops(args)
			x.add(true, tops...)
		case slices.Contains([]string{"-fprint", "-fprint0", "-fprintf", "-fls"}, a) && i+1 < len(args):
			x.add(false, args[i+1])
		}
	}
}

// findTops returns the directories in which find begins, and its expression.
func findTops(args []string) (tops, expression []string) {
	for len(args) > 0 && (slices.Contains([]string{"-H", "-L", "-P", "-D", "--"}, args[0]) ||
		strings.HasPrefix(args[0], "-O")) {
		if args[0] == "-D" && len(args) > 1 { // has a value
			args = args[1:]
		}
		args = args[1:]
	}
	end := slices.IndexFunc(args, func(a string) bool {
		return strings.HasPrefix(a, "-") || slices.Contains([]string{"(", "!", ","}, a)
	})
	if end < 0 {
		end = len(args)
	}
	if end == 0 {
		return []string{"."}, args
	}
	return args[:end], args[end:]
}

// git adds what the commands of git change that name files. Their names count from the working
// directory, or from the work tree if git begins outside of it.
func (x *changes) git(args []string) {
	options, args := gitGlobals(args)
	dirs := []string{x.dir}
	for _, o := range options {
		dir, ok := absolute(dirs[0], o.value)
		switch {
		case o.name == "-C" && !ok:
			return
		case o.name == "-C":
			dirs[0] = dir
		case o.name == "--work-tree" && ok:
			dirs = append(dirs, dir)
		}
	}
	if len(args) == 0 {
		return
	}
	for _, x.dir = range dirs {
		x.gitCommand(args[0], args[1:])
	}
}

// gitCommand adds what a command of git changes.
func (x *changes) gitCommand(sub string, args []string) {
	x.add(false, valuesOf(args, "o", "--output")...)
	operands := plainWords(args)
	switch sub {
	case "rm", "mv", "restore", "clean":
		x.pathspecs(operands)
		if sub == "mv" {
			x.copies(nil, operands)
		}
	case "checkout":
		// whose operands are the names of branches
		if !hasOption(args, "b", "--orphan") && !hasOption(args, "B", "--detach") {
			x.pathspecs(operands)
		}
	}
}

// pathspecs adds what operands of git name. One with a pattern or with magic, as in :/file, may
// stand for any file of the work tree.
func (x *changes) pathspecs(operands []string) {
	x.add(true, operands...)
	if !slices.ContainsFunc(operands, func(a string) bool {
		return strings.HasPrefix(a, ":") || strings.ContainsAny(a, "*?[")
	}) {
		return
	}
	for dir := x.dir; dir != "" && dir != "/"; dir = path.Dir(dir) {
		if _, err := x.env.Stat(x.ctx, path.Join(dir, ".git")); err == nil {
			x.add(true, dir)
			return
		}
	}
	x.add(true, ".")
}

// plainWords returns the arguments that are not options, and all behind --.
func plainWords(args []string) (words []string) {
	for i, a := range args {
		if a == "--" {
			return append(words, args[i+1:]...)
		}
		if len(a) < 2 || a[0] != '-' {
			words = append(words, a)
		}
	}
	return words
}

// hasOption reports whether there is an option, alone or among other letters, or a long one,
// perhaps shortened.
func hasOption(args []string, letter string, long ...string) bool {
	return len(valuesOf(args, letter, long...)) > 0
}

// valuesOf returns the values of an option in front of --.
func valuesOf(args []string, letter string, long ...string) (values []string) {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end+1] // which may be the value of the option before it
	}
	for _, v := range optionsOf(args, letter, long...) {
		values = append(values, v.text)
	}
	return values
}

// valueOf is the value of an option, in the argument with an index.
type valueOf struct {
	at   int
	text string
}

// optionsOf returns the values of an option: behind its letter, behind = or in the next argument.
// Long names may be shortened, or have more behind them.
func optionsOf(args []string, letter string, long ...string) (values []valueOf) {
	for i, a := range args {
		v := valueOf{at: i}
		name, after, has := strings.Cut(a, "=")
		switch {
		case strings.HasPrefix(a, "--"):
			if len(name) < 3 || !slices.ContainsFunc(long, func(l string) bool { return alike(l, name) }) {
				continue
			}
			v.text = after
		case len(a) > 1 && a[0] == '-' && letter != "" && strings.Contains(a, letter):
			_, v.text, _ = strings.Cut(a, letter)
			has = v.text != ""
		default:
			continue
		}
		if !has && i+1 < len(args) {
			v = valueOf{i + 1, args[i+1]}
		}
		values = append(values, v)
	}
	return values
}

// alike reports whether one of two names of options begins with the other, as --output-document
// does with --output.
func alike(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }
