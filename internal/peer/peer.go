package peer

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Required names the environment variable that makes a missing program a failure instead of a skip.
// .ci/run sets it.
const Required = "ATTRACTOR_PEERS_REQUIRED"

// Need returns the path of a program, which may be one that .ci/peers has installed. If there is
// none, Need skips the test, or fails it if Required is set.
func Need(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	for _, dir := range Dirs() {
		if err != nil {
			path, err = exec.LookPath(filepath.Join(dir, program))
		}
	}
	if err != nil {
		Missing(t, "%s is not installed: %v", program, err)
	}
	return path
}

// Dirs returns the directories of the programs that .ci/peers has installed. They may not exist.
func Dirs() []string {
	peers := filepath.Join(cache(), "attractor-peers")
	return []string{filepath.Join(peers, "node_modules", ".bin"), filepath.Join(peers, "bin")}
}

// NeedModules returns the directory with the modules for Node that .ci/peers has installed. If a
// module is not there, NeedModules ends the test as Need does.
func NeedModules(t testing.TB, module string) string {
	t.Helper()
	dir := filepath.Join(cache(), "attractor-peers", "node_modules")
	if _, err := os.Stat(filepath.Join(dir, module, "package.json")); err != nil {
		Missing(t, "the module %s for Node is not installed: %v", module, err)
	}
	return dir
}

// InPath puts the programs that .ci/peers has installed at the end of the test's PATH.
func InPath(t *testing.T) {
	t.Helper()
	t.Setenv("PATH", strings.Join(append([]string{os.Getenv("PATH")}, Dirs()...), string(os.PathListSeparator)))
}

// cache returns the directory in which .ci/peers has its own, on every system.
func cache() string {
	if dir := os.Getenv("XDG_CACHE_HOME"); dir != "" {
		return dir
	}
	return filepath.Join(os.Getenv("HOME"), ".cache")
}

// Missing ends a test that lacks a program. It skips the test with the reason, or fails it if
// Required is set.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv(Required) != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
