package shell

import (
	"slices"
	"strings"
)

// tool judges a program that runs others: it may tell its version.
func (r *read) tool(args []string) string {
	if r.program == "go" && len(args) > 0 {
		return r.goTool(args)
	}
	if len(args) == 1 && (args[0] == "--version" || args[0] == "-v" && strings.HasPrefix(r.program, "n") ||
		args[0] == "-version" && r.program == "java") {
		return ""
	}
	return r.program + " may run other programs"
}

// goTool judges the go command. It may download and run another version of itself, which go.mod or
// go.work asks for, and go env asks the C compiler what it supports; so it asks unless that does
// not matter.
func (r *read) goTool(args []string) string {
	unknown := func(known ...string) bool {
		return slices.ContainsFunc(args[1:], func(a string) bool {
			return strings.HasPrefix(a, "-") &&
				!slices.Contains(known, a)
		})
	}
	choice := r.variable("GOTOOLCHAIN")
	// the user's choice
	own := r.Observed || choice != "" && choice != "auto" && choice != "path" && !strings.Contains(choice, "+")
	fine := false
	switch args[0] {
	case "version":
		fine = own && len(args) == 1
	case "help":
		fine = own
	case "env":
		fine = r.Observed && !unknown("-json", "-changed") || len(args) == 2 &&
			(args[1] == "GOMOD" || args[1] == "GOWORK") // which it answers itself
	case "doc", "list":
		known := []string{"-all", "-src", "-u", "-short", "-c", "-cmd"}
		if args[0] == "list" {
			known = []string{"-deps", "-e", "-f", "-find", "-json", "-m", "-test"}
		}
		fine = r.Observed && !unknown(known...)
		for _, name := range append(args[1:], ".") {
			name = strings.TrimSuffix(name, "/...")
			if strings.HasPrefix(name, "/") || strings.HasPrefix(name, ".") { // the source in a directory
				fine = r.file(name, File{Tree: true, Names: true}) == "" && fine
			}
		}
	}
	if fine {
		return ""
	}
	return "go " + args[0] + " may run other programs or write files"
}

// plainGoFlags reports whether a value of GOFLAGS holds only options that choose how often and how
// loudly tests run. Others start programs, or change which code is built.
func plainGoFlags(value string) bool {
	for _, flag := range strings.Fields(value) {
		times, counts := strings.CutPrefix(flag, "-count=")
		if !(counts && times != "" && strings.Trim(times, "0123456789") == "") &&
			!slices.Contains([]string{"-v", "-short", "-failfast"}, flag) {
			return false
		}
	}
	return value != ""
}
