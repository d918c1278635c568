package version

import (
	"regexp"
	"runtime/debug"
	"strings"
)

// module is the path of the library's module. Those of the other modules begin with it.
const module = "github.com/attractor-go/attractor"

// Program returns the version of the main module of the running program, such as v0.1.0, or (devel)
// if the build has none.
func Program() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// Install returns the command that installs a program in the version of the running one, for a
// text. The directory is the program's in the repository, such as fleet/cmd/attractor-fleet.
func Install(dir string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return install(info, dir)
}

// install is Install for a program with this build information.
func install(info *debug.BuildInfo, dir string) string {
	// A build of a commit without a tag has a pseudo-version, with a date and a hash in it.
	released := regexp.MustCompile(`^v\d+\.\d+\.\d+(-[A-Za-z]+(\.\d+)?)?$`)
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if (m.Path == module || strings.HasPrefix(m.Path, module+"/")) && m.Replace == nil &&
			released.MatchString(m.Version) {
			return "go install " + module + "/" + dir + "@" + m.Version
		}
	}
	in, rest := "", dir
	if !strings.HasPrefix(dir, "cmd/") {
		before, program, _ := strings.Cut(dir, "/")
		in, rest = "-C "+before+" ", program
	}
	return "go " + in + "install ./" + rest + "  # in a clone of https://" + module
}
