package lsp

import (
	"net/url"
	"path"
	"strings"
)

// uriOf returns the URI of a file of the environment.
func uriOf(name string) string {
	if !strings.HasPrefix(name, "/") { // C:/...
		name = "/" + name
	}
	return (&url.URL{Scheme: "file", Path: name}).String()
}

// pathOf returns the path that a URI names, or "" if it is not one of a file.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return ""
	}
	name := path.Clean(u.Path)
	if len(name) > 2 && name[2] == ':' { // /C:/...
		name = strings.ToUpper(name[1:2]) + name[2:]
	}
	return name
}
