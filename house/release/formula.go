package main

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/template"
)

//go:embed files/attractor.rb.tmpl
var formulaText string

// formula writes the formula of Homebrew, which downloads the archives from a URL.
func formula(path, url string, list []archive) error {
	type file struct{ Arch, File, Sum string }
	type system struct {
		Name     string
		Archives []file
	}
	systems := []*system{{Name: "darwin"}, {Name: "linux"}}
	for _, a := range list {
		for _, s := range systems {
			if s.Name == a.os {
				s.Archives = append(s.Archives, file{Arch: a.arch, File: a.file, Sum: a.sum})
			}
		}
	}
	for _, s := range systems {
		if len(s.Archives) == 0 {
			return fmt.Errorf("the release has no archive for %s", s.Name)
		}
		// on_arm before on_intel
		slices.SortFunc(s.Archives, func(a, b file) int { return strings.Compare(b.Arch, a.Arch) })
	}
	t, err := template.New("formula").Parse(formulaText)
	if err != nil {
		return err
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := t.Execute(out, map[string]any{"Version": list[0].version, "URL": url, "Systems": systems}); err != nil {
		_ = out.Close() // the file is useless anyway
		return err
	}
	return out.Close()
}
