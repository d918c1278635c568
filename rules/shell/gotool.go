package shell

import (
	"go/version"
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// goTool judges the go command.
func (r *read) goTool(args []string) string {
	unknown := func(known ...string) bool {
		return slices.ContainsFunc(args[1:], func(a string) bool { return strings.HasPrefix(a, "-") && !slices.Contains(known, a) })
	}
	switch args[0] {
	case "version":
		if len(args) == 1 {
			return r.otherGo()
		}
	case "help":
		return r.otherGo()
	case "env":
		if len(args) == 2 && (args[1] == "GOMOD" || args[1] == "GOWORK") { // which the go command answers itself
			return ""
		}
		if !unknown("-json", "-changed") {
			return r.goEnv()
		}
	case "doc":
		if !unknown("-all", "-src", "-u", "-short", "-c", "-cmd") {
			return r.goDoc(args[1:])
		}
	}
	return "go " + args[0] + " may run other programs or write files"
}

// goEnv judges go env, which asks the C compiler what it supports.
func (r *read) goEnv() string {
	for _, compiler := range []string{"gcc", "clang", "cc"} {
		if why := r.shadowed(r.ctx, compiler); why != "" {
			return why
		}
	}
	return r.otherGo()
}

// goDoc judges go doc, which lists all modules that the module of the directory needs, and downloads those that its arguments name.
func (r *read) goDoc(args []string) string {
	if slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "@") }) {
		return "go doc may download a module"
	}
	files, why := r.goFiles()
	if why == "" && len(files) > 0 {
		why = "go doc may download modules that go.mod names"
	}
	return why
}

// otherGo returns why the go command may run another one: go.mod and go.work can ask for a newer version, which is then looked for in PATH
// and downloaded.
func (r *read) otherGo() string {
	choice := r.variable("GOTOOLCHAIN")
	ranges := strings.Contains(choice, "+")
	if choice != "" && choice != "auto" && choice != "path" && !ranges { // the user's own choice
		return ""
	}
	files, why := r.goFiles()
	if why != "" {
		return why
	}
	const first = "go1.21" // older ones know no others
	newest := first
	for _, text := range files {
		for _, v := range goVersions(text) {
			if !version.IsValid(v) {
				return "go.mod or go.work asks for the Go version " + v
			}
			if version.Compare(v, newest) > 0 {
				newest = v
			}
		}
	}
	if newest == first {
		return ""
	}
	if own := r.goVersion(); !ranges && version.IsValid(own) && version.Compare(newest, own) <= 0 {
		return ""
	}
	return "go may download and run " + newest + ", for which go.mod or go.work asks"
}

// goVersions returns the versions that a go.mod or go.work file asks for.
func goVersions(text string) (versions []string) {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(line)
		switch {
		case len(words) < 2:
		case words[0] == "go":
			versions = append(versions, "go"+strings.Join(words[1:], " "))
		case words[0] == "toolchain" && words[1] != "default":
			versions = append(versions, strings.Join(words[1:], " "))
		}
	}
	return versions
}

// goFiles returns the texts of the nearest go.mod and go.work files, in the directory or above it.
func (r *read) goFiles() (texts []string, why string) {
	const unknown = "it is not known whether go.mod or go.work asks for another version of Go"
	real, err := env.Resolve(r.ctx, r.Env, r.dir)
	if r.dir == "" || err != nil {
		return nil, unknown
	}
	tops := []string{real}
	if named := path.Clean(r.dir); named != real { // go goes up by the names of PWD
		tops = append(tops, named)
	}
	for _, dir := range tops {
		for _, name := range []string{"go.mod", "go.work"} {
			text, err := r.nearest(dir, name)
			if err != nil {
				return nil, unknown
			}
			if text != nil {
				texts = append(texts, string(text))
			}
		}
	}
	return texts, ""
}

// nearest returns the content of the nearest file with a name, or nil.
func (r *read) nearest(dir, name string) ([]byte, error) {
	for ; ; dir = path.Dir(dir) {
		text, err := r.read(path.Join(dir, name))
		if err == nil {
			return text, nil
		}
		if !missing(err) {
			return nil, err
		}
		if dir == path.Dir(dir) {
			return nil, nil
		}
	}
}

// goVersion returns the version of the go command that runs, such as go1.25.1, or "" if it is not known.
func (r *read) goVersion() string {
	dirs := strings.Split(r.variable("PATH"), ":")
	if strings.Contains(r.named, "/") {
		dirs = []string{path.Dir(r.named)}
	}
	for _, dir := range dirs {
		if !path.IsAbs(dir) || r.Resolve == nil {
			return ""
		}
		program := path.Join(dir, "go")
		if _, err := r.read(program); missing(err) { // another error says that there is something
			continue
		}
		real, err := r.Resolve(program)
		if err != nil {
			return ""
		}
		text, err := r.read(path.Join(path.Dir(path.Dir(real)), "VERSION"))
		if err != nil {
			return ""
		}
		line, _, _ := strings.Cut(string(text), "\n")
		return strings.TrimSpace(line)
	}
	return ""
}
