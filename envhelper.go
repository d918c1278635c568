package attractor

import (
	"cmp"
	"context"
	"debug/elf"
	"debug/macho"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/internal/lookpath"
	"github.com/attractor-go/attractor/internal/version"
)

// helperName is the name of the program that serves an environment.
const helperName = "attractor-remote"

// envHelpers names the variable with the directory of helpers for other platforms.
const envHelpers = "ATTRACTOR_ENV_HELPERS"

// Helper returns the path of the program that serves an environment on another machine, for a
// platform.
type Helper = func(ctx context.Context, goos, goarch string) (path string, err error)

// EnvHelper returns the path of a helper for a platform, for remote.DialOptions.Helper. Static ones
// come first. One that needs libraries is returned only for a platform like this one, because it
// may run there; remote.Dial tries that. The error names those that were found and do not fit, and
// says how to make one. This program itself is one: it has to be attractor.
func EnvHelper(_ context.Context, goos, goarch string) (string, error) {
	return findHelper(goos, goarch, true)
}

// separateHelper is EnvHelper for programs that are not attractor.
func separateHelper(_ context.Context, goos, goarch string) (string, error) {
	return findHelper(goos, goarch, false)
}

// findHelper returns the path of a helper. With self, this program can be one.
func findHelper(goos, goarch string, self bool) (string, error) {
	name := helperName + "-" + goos + "-" + goarch
	var unfit []string
	dynamic := ""
	for _, path := range envHelperPaths(name, goos, goarch, self) {
		err := runsOn(path, goos, goarch)
		switch {
		case err == nil:
			return path, nil
		case errors.Is(err, errDynamic) && goos == runtime.GOOS && goarch == runtime.GOARCH:
			dynamic = cmp.Or(dynamic, path)
		case !errors.Is(err, fs.ErrNotExist):
			unfit = append(unfit, fmt.Sprintf("%s cannot be used: %v", path, err))
		}
	}
	if dynamic != "" {
		return dynamic, nil
	}
	unfit = append(unfit, fmt.Sprintf(
		"there is no helper for %s/%s: make one and put it as %s beside this program, or into the directory $%s, "+
			"or put it into PATH on the other machine as attractor-remote: CGO_ENABLED=0 GOOS=%s GOARCH=%s %s", goos,
		goarch, name,
		envHelpers, goos, goarch, version.Install("cmd/"+helperName)))
	return "", errors.New(strings.Join(unfit, "; "))
}

// envHelperPaths returns where a helper may be, in order. A program for this platform may be
// attractor itself.
func envHelperPaths(name, goos, goarch string, self bool) (paths []string) {
	if dir := os.Getenv(envHelpers); dir != "" {
		paths = append(paths, filepath.Join(dir, name))
	}
	own, err := os.Executable()
	if err == nil {
		dir := filepath.Dir(own)
		// the second by go install
		paths = append(paths, filepath.Join(dir, name), filepath.Join(dir, goos+"_"+goarch, helperName))
	}
	if cache, err := os.UserCacheDir(); err == nil {
		paths = append(paths, filepath.Join(cache, "attractor", "helpers", name))
	}
	if goos != runtime.GOOS || goarch != runtime.GOARCH {
		return paths
	}
	if err == nil {
		paths = append(paths, filepath.Join(filepath.Dir(own), helperName))
	}
	here, _ := os.Getwd() // where there is none, PATH has none of its programs
	if helper, err := lookpath.Find(helperName, os.Getenv("PATH"),
		git.WorkTrees(here, os.Getenv("HOME"))...); err == nil {
		paths = append(paths, helper)
	}
	if self && err == nil && !strings.HasSuffix(own, ".test") { // whatever it is called, but not the binary of a test
		paths = append(paths, own)
	}
	return paths
}

// errDynamic says that a program may not run on another machine of its platform.
var errDynamic = errors.New("it needs shared libraries; build it with CGO_ENABLED=0")

// runsOn returns an error unless a file is a program for a platform. It returns errDynamic if the
// program needs libraries there.
func runsOn(path, goos, goarch string) error {
	if goos == "darwin" {
		return runsOnDarwin(path, goarch)
	}
	f, err := elf.Open(path)
	if err != nil {
		return notFor(goos, err)
	}
	defer f.Close() // it was only read
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64, "386": elf.EM_386,
		"arm": elf.EM_ARM, "riscv64": elf.EM_RISCV,
		"ppc64le": elf.EM_PPC64, "s390x": elf.EM_S390, "loong64": elf.EM_LOONGARCH}[goarch]
	if f.Machine != machine {
		return fmt.Errorf("it is for another processor, %v", f.Machine)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errDynamic
		}
	}
	return nil
}

// notFor returns the error of a file that could not be opened as a program.
func notFor(goos string, err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return err
	}
	return fmt.Errorf("it is not a program for %s (%w)", goos, err)
}

// runsOnDarwin returns an error unless a file is a program for macOS on a processor.
func runsOnDarwin(path, goarch string) error {
	f, err := macho.Open(path)
	if err != nil {
		return notFor("darwin", err)
	}
	defer f.Close() // it was only read
	if cpu := map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64}[goarch]; f.Cpu != cpu {
		return fmt.Errorf("it is for another processor, %v", f.Cpu)
	}
	return nil
}
