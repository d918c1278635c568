package rules_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/rules"
)

// The files of a call are those that its tool names, and those that the commands of its script read
// and write.
func TestM10_FilesOfCalls(t *testing.T) {
	p := newProject(t, "a", "sub/b", "sub/c.go", "sub/d.go")
	set, err := rules.Load(p.dirs())
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		`read_file {"file_path":"sub/b"}`:                           "sub/b",
		`grep {"pattern":"x","path":"sub"}`:                         "",
		`shell {"command":"cat sub/b"}`:                             "sub/b",
		`shell {"command":"cd sub && head -n 3 b | sort > sorted"}`: "sub/b sub/sorted",
		`shell {"command":"sed -n 1,5p sub/*.go"}`:                  "sub/c.go sub/d.go",
		`shell {"command":"wc -l < sub/b; ls sub; grep -rn x sub"}`: "sub/b",
	} {
		name, text, _ := strings.Cut(args, " ")
		var got []string
		for _, file := range set.Files(t.Context(), p.env, p.requestText(p.env, tools(t), name, text)) {
			got = append(got, strings.TrimPrefix(file, p.dir+"/"))
		}
		slices.Sort(got)
		if strings.Join(slices.Compact(got), " ") != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
	if !rules.HoldsSecrets("/x/.env") || !rules.HoldsSecrets("/home/me/.aws/config") ||
		rules.HoldsSecrets("/x/env.md") {
		t.Error("the files with secrets are not those of the table")
	}
}
