package web

import (
	"bytes"
	"cmp"
	"embed"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"sync"
)

// files holds the page: index.html, scripts and style sheets, and in server those that only the
// page of a server has.
//
//go:embed page
var files embed.FS

// page returns index.html.
func page() []byte { return part("page/index.html") }

// pageJS and serverJS return the scripts of a page as one function, so that their names are visible
// to each other and not outside.
var (
	pageJS   = sync.OnceValue(func() []byte { return scripts(glob("page/*.js")) })
	serverJS = sync.OnceValue(func() []byte { return scripts(allScripts()) })
)

// allScripts returns the names of the scripts of the page of a server.
func allScripts() []string { return append(glob("page/*.js"), glob("page/server/*.js")...) }

// scripts returns scripts as one function, in the order of inOrder.
func scripts(names []string) []byte {
	return bytes.Join([][]byte{[]byte("(function () {\n\"use strict\";\n"), concat(inOrder(names)), []byte("})();\n")},
		nil)
}

// pageCSS and serverCSS return the style sheets of a page.
var (
	pageCSS   = sync.OnceValue(func() []byte { return styles(glob("page/*.css")) })
	serverCSS = sync.OnceValue(func() []byte {
		return styles(append(glob("page/*.css"), glob("page/server/*.css")...))
	})
)

// styles returns style sheets in the order of inOrder, without spaces beside punctuation. So their
// strings must have no such spaces.
func styles(names []string) []byte {
	space := regexp.MustCompile(` ?([{}]) ?|([:;,]) `)
	return space.ReplaceAll(concat(inOrder(names)), []byte("$1$2"))
}

// inOrder sorts the names of files: first those that others depend on, then the others by name, and
// app.js last.
func inOrder(names []string) []string {
	first := []string{"text.js", "ui.js", "source.js", "page.css"}
	rank := func(name string) int {
		base := path.Base(name)
		if at := slices.Index(first, base); at >= 0 {
			return at
		}
		if base == "app.js" {
			return len(first) + 1
		}
		return len(first)
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	return names
}

// concat returns the contents of files, without comments and indentation.
func concat(names []string) []byte {
	var all []byte
	for _, name := range names {
		all = append(append(all, part(name)...), '\n')
	}
	return comments().ReplaceAll(all, nil)
}

// comments matches the comments of scripts and style sheets that are whole lines or types, and
// indentation. No string in them may span several lines.
var comments = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[ \t]*//.*\n|(?s:^[ \t]*/\*.*?\*/[ \t]*\n|/\*\* @.*?\*/ ?)|^[ \t]+`)
})

// glob returns the names of embedded files.
func glob(pattern string) []string {
	names, err := fs.Glob(files, pattern)
	if err != nil {
		panic(err) // the pattern is a constant
	}
	return names
}

// part returns an embedded file.
func part(name string) []byte {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err) // the name is a constant, or comes from glob
	}
	return data
}
