package peer

import (
	"os/exec"
	"testing"
)

// Browser returns the path of Chromium or a browser that is made of it. If there is none, Browser
// ends the test as Need does.
func Browser(t testing.TB) string {
	t.Helper()
	for _, program := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
		"/Applications/Chromium.app/Contents/MacOS/Chromium",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"} {
		if path, err := exec.LookPath(program); err == nil {
			return path
		}
	}
	Missing(t, "Chromium is not installed: neither chromium nor google-chrome is in PATH")
	return ""
}
