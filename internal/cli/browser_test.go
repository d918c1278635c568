package cli

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestM3_BrowserCommands(t *testing.T) {
	screen := func(name string) string { return map[string]string{"DISPLAY": ":0", "SystemRoot": `C:\Windows`}[name] }
	for _, system := range []string{"linux", "darwin", "windows", "freebsd"} {
		for _, page := range []string{"file:///etc/passwd", "javascript:alert(1)", "--help", "vscode://x", "http:", "",
			"https://x/\n-y", "http://[::1"} {
			if argv, err := browser(system, screen, page); err == nil {
				t.Errorf("%s opens %q with %q", system, page, argv)
			}
		}
		const page = "https://login.example/authorize?state=a&scope=%24%28id%29"
		argv, err := browser(system, screen, page)
		if err != nil || argv[len(argv)-1] != page ||
			slices.ContainsFunc(argv, func(word string) bool { return strings.Contains(word, "sh") && word != page }) {
			t.Errorf("%s: %q, %v", system, argv, err)
		}
	}
	if _, err := browser("linux", func(string) string { return "" }, "https://x/"); !errors.Is(err, errNoBrowser) {
		t.Errorf("without a screen: %v", err)
	}
}
