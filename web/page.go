package web

import (
	"bytes"
	"cmp"
	"embed"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// files holds the page: index.html, scripts and style sheets.
//
//go:embed page
var files embed.FS

// page returns index.html.
func page() []byte { return part("page/index.html") }

// pageJS returns the scripts of the page as one function, so that they share their names with each
// other and with nobody else: the scripts on which others are built, the panels in the order of
// their names, and app.js, which starts them.
var pageJS = sync.OnceValue(func() []byte {
	return bytes.Join([][]byte{[]byte("(function () {\n\"use strict\";\n"), concat(".js", "text.js", "ui.js",
		"source.js"), []byte("})();\n")}, nil)
})

// pageCSS returns the style sheets of the page: page.css, and the others in the order of their
// names. Their strings have no space beside punctuation, which is left out.
var pageCSS = sync.OnceValue(func() []byte {
	space := regexp.MustCompile(` ?([{}]) ?|([:;,]) `)
	return space.ReplaceAll(concat(".css", "page.css"), []byte("$1$2"))
})

// concat returns all files with a suffix. The named ones come first, and app.js comes last.
func concat(suffix string, first ...string) []byte {
	names := glob("page/*" + suffix)
	rank := func(name string) int {
		base := strings.TrimPrefix(name, "page/")
		if at := slices.Index(first, base); at >= 0 {
			return at
		}
		if base == "app.js" {
			return len(first) + 1
		}
		return len(first)
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)),
			cmp.Compare(a, b))
	})
	var all []byte
	for _, name := range names {
		all = append(append(all, part(name)...), '\n')
	}
	return comments().ReplaceAll(all, nil)
}

// comments matches what browsers need not load of scripts and style sheets: comments that are whole
// lines or types, and indentation. No text in them may go over several lines.
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
