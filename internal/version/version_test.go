package version

import (
	"runtime/debug"
	"testing"
)

// The command names the version that the program has, and a clone if that is no release.
func TestX10_InstallsTheSameVersion(t *testing.T) {
	tests := map[string]struct {
		main debug.Module
		deps []*debug.Module
		dir  string
		want string
	}{
		"a release": {main: debug.Module{Path: module, Version: "v0.1.0"}, dir: "cmd/attractor-env",
			want: "go install github.com/attractor-go/attractor/cmd/attractor-env@v0.1.0"},
		"a candidate": {main: debug.Module{Path: module + "/otel", Version: "v0.2.0-rc.1"},
			dir:  "fleet/cmd/attractor-fleet",
			want: "go install github.com/attractor-go/attractor/fleet/cmd/attractor-fleet@v0.2.0-rc.1"},
		"a program of somebody else": {main: debug.Module{Path: "example.com/bot", Version: "v1.2.3"},
			deps: []*debug.Module{{Path: "github.com/spf13/cobra", Version: "v1.0.0"},
				{Path: module, Version: "v0.1.1"}},
			dir: "cmd/attractor-env", want: "go install github.com/attractor-go/attractor/cmd/attractor-env@v0.1.1"},
		"a commit": {main: debug.Module{Path: module, Version: "v0.1.1-0.20261128101112-0123456789ab"},
			dir:  "cmd/attractor-env",
			want: "go install ./cmd/attractor-env  # in a clone of https://github.com/attractor-go/attractor"},
		"changes": {main: debug.Module{Path: module, Version: "v0.1.0+dirty"}, dir: "fleet/cmd/attractor-fleet",
			want: "go -C fleet install ./cmd/attractor-fleet  # in a clone of " +
				"https://github.com/attractor-go/attractor"},
		"a clone of the library": {main: debug.Module{Path: "example.com/bot"},
			deps: []*debug.Module{{Path: module, Version: "v0.1.1", Replace: &debug.Module{Path: "../attractor"}}},
			dir:  "cmd/attractor-env",
			want: "go install ./cmd/attractor-env  # in a clone of https://github.com/attractor-go/attractor"},
		"nothing is known": {dir: "cmd/attractor",
			want: "go install ./cmd/attractor  # in a clone of https://github.com/attractor-go/attractor"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			if got := install(&debug.BuildInfo{Main: c.main, Deps: c.deps}, c.dir); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
