package web_test

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/web"
)

// The page loads at most 150 kB, and its scripts are one strict function.
func TestN5_PageWeight(t *testing.T) {
	v := view(t, web.Options{})
	weight := 0
	for _, path := range []string{"/", "/page.js", "/page.css"} {
		got := v.do("GET", path, "", nil)
		t.Logf("%s: %d bytes", path, len(got.body))
		weight += len(got.body)
	}
	if weight >= 150_000 {
		t.Errorf("the page has %d bytes", weight)
	}
	js := v.do("GET", "/page.js", "", nil).body
	if !strings.HasPrefix(js, "(function () {\n\"use strict\";\n") || !strings.HasSuffix(js, "\n})();\n") {
		t.Error("the scripts are not in one strict function")
	}
}

// Modules leave out directories named vendor, so a program that uses this one would not have what
// is in them.
func TestN5_NoVendorDirectory(t *testing.T) {
	err := fs.WalkDir(os.DirFS("page"), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "vendor" {
			t.Errorf("page/%s would be missing in the module; give the directory another name", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
