package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// program is a command that users install.
type program struct {
	path    string // below the library's path
	version bool   // it prints its version for --version
}

func programs() []program {
	return []program{{"cmd/attractor", true}, {"cmd/attractor-env", false}, {"cmd/attractor-remote", false},
		{"fleet/cmd/attractor-fleet", true}, {"otel/cmd/attractor-otel", true}, {"cloud/cmd/attractor-cloud", true}}
}

// try uses the release as its users will.
func (r *release) try(ctx context.Context) error {
	for _, p := range programs() {
		if err := r.install(ctx, p); err != nil {
			return err
		}
	}
	for _, module := range released() {
		if _, err := r.command(ctx, filepath.Join(r.clone(), module), "go", "mod", "tidy", "-diff"); err != nil {
			return err
		}
	}
	if err := r.demo(ctx); err != nil {
		return err
	}
	if err := r.use(ctx); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(r.dir, "mod"))
}

// install installs a program by its version, and compares the version that it prints.
func (r *release) install(ctx context.Context, p program) error {
	target := library + "/" + p.path + "@" + r.version
	if _, err := r.command(ctx, r.dir, "go", "install", target); err != nil {
		return err
	}
	printed := "installed"
	if p.version {
		var err error
		if printed, err = r.command(ctx, r.dir, r.program(filepath.Base(p.path)), "--version"); err != nil {
			return err
		}
		if !strings.Contains(printed, " "+r.version) {
			return fmt.Errorf("%s --version prints %q instead of %s", filepath.Base(p.path), printed, r.version)
		}
	}
	return r.done("go install "+target, printed)
}

// demo runs the demo of the program that was installed.
func (r *release) demo(ctx context.Context) error {
	printed, err := r.command(ctx, r.dir, r.program("attractor"), "demo")
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	return r.done("attractor demo", lines[len(lines)-1])
}

// use builds the first of the examples in a module of its own.
func (r *release) use(ctx context.Context) error {
	dir := filepath.Join(r.dir, "user")
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	source, err := os.ReadFile(filepath.Join(r.clone(), "examples", "minimal", "main.go"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), source, 0o666); err != nil {
		return err
	}
	for _, args := range [][]string{{"mod", "init", "example.com/user"}, {"get", library + "@" + r.version},
		{"mod", "tidy"}, {"vet", "."}} {
		if _, err := r.command(ctx, dir, "go", args...); err != nil {
			return err
		}
	}
	return r.done("go get "+library+"@"+r.version, "examples/minimal builds in a module of its own")
}

// done prints a line about a step that has succeeded.
func (r *release) done(step, result string) error {
	_, err := fmt.Fprintf(r.out, "%s: %s\n", step, strings.TrimSpace(result))
	return err
}

// program returns the path of a program that was installed.
func (r *release) program(name string) string { return filepath.Join(r.dir, "bin", name) }

// command runs a program that finds the release at the repository's address, and nothing else of
// the user's: neither modules that were downloaded nor settings of git. Modules of others come from
// the user's module cache, checked as if downloaded, or from the usual proxy.
func (r *release) command(ctx context.Context, dir, name string, args ...string) (string, error) {
	printed, err := output(exec.CommandContext(ctx, "go", "env", "GOMODCACHE", "GOPROXY"))
	if err != nil {
		return "", err
	}
	downloaded, proxy, _ := strings.Cut(strings.TrimSpace(printed), "\n")
	config := filepath.Join(r.dir, "gitconfig")
	if err := os.WriteFile(config, fmt.Appendf(nil, "[url %q]\n\tinsteadOf = https://%s\n", "file://"+r.clone(),
		library), 0o666); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"GIT_CONFIG_GLOBAL="+config, "GIT_CONFIG_NOSYSTEM=1",
		"GONOPROXY="+library, "GONOSUMDB="+library, "GOPRIVATE=",
		"GOPROXY=file://"+filepath.Join(downloaded, "cache", "download")+","+proxy,
		"GOMODCACHE="+filepath.Join(r.dir, "mod"), "GOBIN="+filepath.Join(r.dir, "bin"),
		// -trimpath: packages of others are compiled once, wherever they lie
		"GOWORK=off", "GOFLAGS=-trimpath -modcacherw")
	return output(cmd)
}
