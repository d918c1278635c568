package shell

import (
	"slices"
	"strings"
)

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
	case "doc":
		fine = r.Observed && !unknown("-all", "-src", "-u", "-short", "-c", "-cmd")
		for _, name := range append(args[1:], ".") {
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
