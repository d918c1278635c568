package shell_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
)

// hidden is a script that writes a file in GBK only.
const hidden = `echo あ\; touch mark`

// TestL2_CharactersOfOtherLocales checks that a script with characters beyond ASCII asks unless
// every locale in force is UTF-8, C or POSIX. In
// GBK the last byte of あ and a backslash are one character, so that the backslash quotes nothing.
func TestL2_CharactersOfOtherLocales(t *testing.T) {
	p := ordinary(t)
	p.put("é", "x\n")
	for _, c := range []struct {
		script string
		vars   []string
		asks   bool
	}{
		{"echo 'é'", nil, false},
		{"echo 'é'", []string{"LANG=en_US.UTF-8"}, false},
		{"echo 'é'", []string{"LANG=C", "LC_ALL=", "LC_CTYPE=POSIX"}, false},
		{"echo 'é'", []string{"LC_ALL=C.utf8"}, false},
		{"echo 'é'", []string{"LC_CTYPE=UTF-8"}, false}, // of macOS
		{"echo 'é'", []string{"LANG=de_DE.UTF-8@euro", "LC_NUMERIC=zh_CN.GBK"}, false},
		{hidden, []string{"LC_ALL=C.UTF-8"}, false},
		{hidden, []string{"LC_ALL=zh_CN.GBK"}, true},
		{"echo é\\\\", []string{"LC_ALL=zh_CN.GBK"}, true},
		{"echo 'é'", []string{"LANG=ja_JP.SJIS"}, true},
		{"echo 'é'", []string{"LC_CTYPE=zh_TW.Big5", "LANG=C"}, true},
		{"echo 'é'", []string{"LC_ALL=C", "LANG=zh_CN.gb18030"}, true}, // the script could unset LC_ALL
		{"echo 'é'", []string{"LANG=zh_TW"}, true},
		{"echo 'é'", []string{"LANG=japanese"}, true},
		{"echo 'é'", []string{"LANG=xutf8"}, true},
		{"echo 'é'", []string{"LANG=zh_CN.GBK@x.UTF-8"}, true},
		{"ls # é", []string{"LC_ALL=zh_CN.GBK"}, true},
		{"for i in é; do ls; done", []string{"LC_ALL=zh_CN.GBK"}, true},
		{"cat <<'E'\né\nE", []string{"LC_ALL=zh_CN.GBK"}, true},
		{"sh -c 'echo é'", []string{"LC_ALL=zh_CN.GBK"}, true},
		{"cat ?", []string{"LC_ALL=zh_CN.GBK"}, true},
		{"echo plain", []string{"LC_ALL=zh_CN.GBK"}, false},
		{"cat *.go", []string{"LC_ALL=zh_CN.GBK"}, true}, // it depends on the characters of é whether it matches
		{"LC_ALL=zh_CN.GBK sed -n '/é/p' a", nil, true},
		{"LC_ALL=zh_CN.GBK; echo 'é'", nil, true},
		{"LANG=zh_CN.GBK sh -c 'echo é'", nil, true},
		{"echo 'é' | LC_CTYPE=ja_JP.SJIS cat", nil, true},
		{"LC_ALL=C sort é", nil, false},
		{"LC_ALL=en_US.UTF-8 grep 'é' a", nil, false},
		{"LC_ALL=zh_CN.GBK sort a", nil, true},
		{"LC_ALL=en_US sort a", nil, true},
	} {
		p.vars = c.vars
		if _, why := p.judge(c.script); (why != "") != c.asks {
			t.Errorf("%q with %q: %q", c.script, c.vars, why)
		}
	}
}

// TestL2_HiddenInGBK shows that a shell in GBK runs the command that a shell in UTF-8 prints.
func TestL2_HiddenInGBK(t *testing.T) {
	bash := peer.Need(t, "bash")
	locales := t.TempDir()
	if out, err := exec.Command("localedef", "-i", "zh_CN", "-f", "GBK", filepath.Join(locales,
		"zh_CN.GBK")).CombinedOutput(); err != nil {
		t.Skipf("this machine cannot build the locale zh_CN.GBK: %v %s", err, out)
	}
	for locale, runs := range map[string]bool{"zh_CN.GBK": true, "C.UTF-8": false} {
		cmd := exec.Command(bash, "-c", hidden)
		cmd.Dir, cmd.Env = t.TempDir(), []string{"PATH=/usr/bin:/bin", "LOCPATH=" + locales, "LC_ALL=" + locale}
		out, err := cmd.CombinedOutput()
		if _, missing := os.Stat(filepath.Join(cmd.Dir, "mark")); (missing == nil) != runs {
			t.Errorf("%s: mark %v, printed %q, %v", locale, missing, out, err)
		}
	}
}
