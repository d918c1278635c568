package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// notices returns the licenses of what is linked into the programs of the archives, which ask to be
// passed on with them. The working directory is the top of the repository.
func notices(ctx context.Context) (string, error) {
	const module = "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}"
	printed, err := output(exec.CommandContext(ctx, "go", "list", "-deps", "-f", module, "./cmd/attractor",
		"./cmd/attractor-env", "./cmd/attractor-remote"))
	if err != nil {
		return "", err
	}
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	root, err := output(exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOROOT"))
	if err != nil {
		return "", err
	}
	lines = append(lines, strings.Replace(strings.TrimSpace(root), "\n", "\t", 1))
	slices.Sort(lines)
	var b strings.Builder
	for _, line := range slices.Compact(lines) {
		name, dir, ok := strings.Cut(line, "\t")
		if !ok {
			continue
		}
		texts, err := licenses(dir)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(&b, "== %s\n\n%s\n", name, strings.Join(texts, "\n"))
	}
	return b.String(), nil
}

// licenses returns the texts at the top of a module that have to be passed on.
func licenses(dir string) (texts []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.HasPrefix(name, "LICENSE") && !strings.HasPrefix(name, "COPYING") &&
			!strings.HasPrefix(name, "NOTICE") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, strings.TrimSpace(string(text))+"\n")
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("there is no license in %s", dir)
	}
	return texts, nil
}
