package texts_test

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/texts"
)

// TOML that is deep is refused with its line; dots and brackets in strings and comments are none.
func TestM7_DepthOfTOML(t *testing.T) {
	many := func(part string) string { return strings.Repeat(part, 100_000) }
	for _, deep := range []string{"a" + many(".a") + " = 1", "[a" + many(".a") + "]", "a = " + many("{a="),
		"a = " + many("{a.a={'b'.a="), "a = " + many("["), "a = " + many("[\n"), `a` + many(`."."`) + "=1",
		`a = {s = """x""""", ` + many("a.")} {
		if line, err := texts.CheckTOML("b = '''\n'''\n" + deep); err == nil || line < 3 {
			t.Errorf("%.30s: line %d, %v", deep, line, err)
		}
	}
	for _, flat := range []string{"# " + many("."), "a = '" + many("[") + "'", `a = "\"` + many("{") + `"`,
		`a = """` + many("a.\n[") + `\""""""`, "a = '''" + many("'.{") + "'''''", many("[[a.b]]\nc.d = {e.f = " +
			"[1.5, 2.5]}\n"),
		"a = [" + many("{b.c = 1.5}, ") + "]", many("]"), "a = '" + many(".") + "\n", "a = [\n" + many("1.5,\n") +
			"]"} {
		if line, err := texts.CheckTOML(flat); err != nil {
			t.Errorf("%.30s: line %d, %v", flat, line, err)
		}
	}
}
