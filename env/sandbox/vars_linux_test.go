package sandbox_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/peer"
)

// tell is a library that writes down each program that it is loaded into.
const tell = `#include <stdio.h>
#include <stdlib.h>
#include <errno.h>
__attribute__((constructor)) static void tell(void) {
	FILE *f = fopen(getenv("TELL"), "a");
	if (f) { fprintf(f, "%s\n", program_invocation_short_name); fclose(f); }
}
`

// dynamicHelper builds the helper as a program that libraries can be loaded into, as go install
// does where there is a C compiler.
func dynamicHelper(t *testing.T) string {
	t.Helper()
	helper := filepath.Join(t.TempDir(), "attractor-env")
	cmd := exec.Command("go", "build", "-o", helper, "../../cmd/attractor-env")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=1", "GOFLAGS=-trimpath")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return helper
}

// The variables of a command have their effect on the command, and none on the programs that
// confine it.
func TestL4_VariablesOfACommand(t *testing.T) {
	cc := peer.Need(t, "cc")
	helper := dynamicHelper(t)
	for name, o := range map[string]sandbox.Options{
		"workspace":                  {},
		"workspace with the network": {Network: true},
		"workspace-weak":             {Level: sandbox.WorkspaceWeak},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			library, log := filepath.Join(dir, "tell.so"), filepath.Join(dir, "log")
			write(t, filepath.Join(dir, "tell.c"), "#define _GNU_SOURCE\n"+tell)
			if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", library,
				filepath.Join(dir, "tell.c")).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			o.Helper = helper
			b := newBox(t, dir, o, env.LocalOptions{})
			var out strings.Builder
			cmd := env.Command{Script: `echo "$ODD|$TWICE"; cat /dev/null`,
				Output: func(_ int, p []byte) { out.Write(p) },
				Env: []string{"LD_PRELOAD=" + library, "TELL=" + log, "ODD=a\nb=$c 'd'", "TWICE=1", "TWICE=2",
					"NONE"}}
			if result, err := env.Run(t.Context(), b, cmd, env.MaxTimeout); err != nil || result.Code != 0 ||
				out.String() != "a\nb=$c 'd'|2\n" {
				t.Errorf("%+v, %v: %q", result, err, out.String())
			}
			loaded := strings.Fields(read(t, log))
			if !slices.Contains(loaded, "cat") || slices.Contains(loaded, "bwrap") ||
				slices.Contains(loaded, "attractor-env") {
				t.Errorf("the library of the command was loaded into %q", loaded)
			}
		})
	}
}

// More variables than bubblewrap takes are an error that says so.
func TestL4_TooManyVariables(t *testing.T) {
	b := newBox(t, t.TempDir(), sandbox.Options{}, env.LocalOptions{})
	run := func(n int) error {
		var environ []string
		for i := range n {
			environ = append(environ, fmt.Sprintf("V%d=%d", i, i))
		}
		_, err := env.Run(t.Context(), b, env.Command{Script: fmt.Sprintf("test $V%d = %[1]d", n-1), Env: environ,
			Output: func(int, []byte) {}}, env.MaxTimeout)
		return err
	}
	if err := run(1000); err != nil {
		t.Error(err)
	}
	if err := run(4000); err == nil || !strings.Contains(err.Error(), "environment variables, which are too many") {
		t.Errorf("with 4,000 variables: %v", err)
	}
}
