package attractor

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/trust"
)

// openSandbox opens the sandbox of commands in a directory.
func openSandbox(dir string, o sandbox.Options) (*sandbox.Sandbox, error) {
	o.Level = cmp.Or(o.Level, sandbox.Off)
	if o.Level == sandbox.Off && (o.Network || len(o.AllowHosts) > 0 || len(o.AllowSockets) > 0) {
		return nil, fail(ErrConfig,
			"without a sandbox commands reach the whole network and all sockets; choose one to limit them")
	}
	if o.Cache == "" && o.Level != sandbox.Off {
		o.Cache = sandboxCache(dir)
	}
	if o.Runs == nil {
		o.Runs = trust.RunBy
	}
	box, err := sandbox.New(dir, o)
	if err != nil {
		return nil, fail(ErrConfig, "%w", err)
	}
	return box, nil
}

// sandboxCache returns the directory that commands in the sandbox of a directory see as ~/.cache,
// so that compilers need not begin from nothing in each session. Each directory has its own,
// because whoever can write there decides what later builds contain. It is empty without a cache
// directory of the user.
func sandboxCache(dir string) string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	sum := sha256.Sum256([]byte(userfiles.RealPath(dir)))
	return filepath.Join(cache, "attractor", "sandbox", hex.EncodeToString(sum[:8]))
}
