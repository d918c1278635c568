package web

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
)

// The scripts have no way to make markup, code or addresses of a text. The page's policy forbids it
// as well, but an exported file may be opened by a browser that does not know all of the policy.
func TestN5_ScriptsMakeNoMarkup(t *testing.T) {
	forbidden := regexp.MustCompile(
		`innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|srcdoc|\beval\(|new Function|\bimport\(|"style"|javascript:|window\.open`)
	for _, name := range allScripts() {
		for i, text := range strings.Split(string(part(name)), "\n") {
			if found := forbidden.FindString(text); found != "" {
				t.Errorf("%s:%d has %s", name, i+1, found)
			}
		}
	}
	markup := regexp.MustCompile(`(?i)\sstyle=|\son[a-z]+=|<style|src="(?:[^p]|p[^a])`)
	if found := markup.Find(page()); found != nil {
		t.Errorf("index.html has %s", found)
	}
}

// The scripts share one scope: a name that two of them declare would be an error of the whole page,
// or silently the later one.
func TestN5_ScriptsDeclareNamesOnce(t *testing.T) {
	declared := regexp.MustCompile(`(?m)^(?:async )?(?:function|class|const|let)\s+\*?\s*([A-Za-z_$][\w$]*)`)
	where := map[string]string{}
	for _, name := range allScripts() {
		for _, found := range declared.FindAllSubmatch(part(name), -1) {
			id := string(found[1])
			if other, twice := where[id]; twice {
				t.Errorf("%s and %s both declare %s", other, name, id)
			}
			where[id] = name
		}
	}
	if len(where) < 100 {
		t.Errorf("only %d names were found", len(where))
	}
}

// The scripts agree with the types in their comments.
func TestN5_ScriptsHaveTypes(t *testing.T) {
	t.Parallel()
	tsc := peer.Need(t, "tsc")
	var all []byte
	for _, name := range inOrder(allScripts()) {
		all = append(append(all, part(name)...), '\n')
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "page.js"), all, 0o600); err != nil {
		t.Fatal(err)
	}
	// The second script shares the first one's names, and has the only mistake.
	if err := os.WriteFile(filepath.Join(dir, "wrong.js"), []byte("plural(\"one\", 1);\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check := exec.Command(tsc, "--allowJs", "--checkJs", "--noEmit", "--pretty", "false", "--skipLibCheck", "--strict",
		"false", "--target", "es2023", "--lib", "es2023,dom,dom.iterable", "page.js", "wrong.js")
	check.Dir = dir
	out, err := check.CombinedOutput()
	if want := "wrong.js(1,8): error TS2345: "; err == nil || !strings.HasPrefix(string(out), want) ||
		bytes.Count(out, []byte(": error ")) != 1 {
		t.Errorf("tsc: %v, want one mistake, %s\n%s", err, want, out)
	}
}
