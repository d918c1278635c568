package attractor

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// program returns the beginning of a program for Linux.
func program(t *testing.T, machine elf.Machine, dynamic bool) []byte {
	t.Helper()
	head := elf.Header64{Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB),
		byte(elf.EV_CURRENT)},
		Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT), Ehsize: 64, Phentsize: 56,
		Phoff: 64, Phnum: 1}
	segment := elf.Prog64{Type: uint32(elf.PT_LOAD)}
	if dynamic {
		segment.Type = uint32(elf.PT_INTERP)
	}
	var b bytes.Buffer
	for _, part := range []any{head, segment} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// A helper has to be for the platform over there, and must not need libraries. The error says what
// does not fit and how to make one.
func TestO1_EnvHelperForAPlatform(t *testing.T) {
	given, cache := t.TempDir(), t.TempDir()
	t.Setenv(envHelpers, given)
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache) // where UserCacheDir does not look at XDG_CACHE_HOME
	put := func(dir string, content []byte) string {
		t.Helper()
		path := filepath.Join(dir, "attractor-remote-linux-riscv64")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	wants := func(texts ...string) {
		t.Helper()
		path, err := EnvHelper(t.Context(), "linux", "riscv64")
		if err == nil {
			t.Fatalf("found %s", path)
		}
		for _, text := range append(texts, "GOOS=linux GOARCH=riscv64 go install", "attractor-remote-linux-riscv64",
			envHelpers) {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("error %q lacks %q", err, text)
			}
		}
	}
	wants()
	path := put(given, []byte("#!/bin/sh\n"))
	wants(path+" cannot be used", "not a program for linux")
	put(given, program(t, elf.EM_AARCH64, false))
	wants("another processor, EM_AARCH64")
	put(given, program(t, elf.EM_RISCV, true))
	wants("shared libraries")

	user, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	kept := put(filepath.Join(user, "attractor", "helpers"), program(t, elf.EM_RISCV, false))
	if got, err := EnvHelper(t.Context(), "linux", "riscv64"); got != kept || err != nil {
		t.Errorf("%q, %v, want the one in the cache", got, err)
	}
	put(given, program(t, elf.EM_RISCV, false))
	if got, err := EnvHelper(t.Context(), "linux", "riscv64"); got != path || err != nil {
		t.Errorf("%q, %v, want the given one", got, err)
	}
}

// For a machine like this one, a helper that needs libraries is the last choice: it may run there.
func TestO1_EnvHelperWithLibraries(t *testing.T) {
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	if runtime.GOOS != "linux" || machine == elf.EM_NONE {
		t.Skip("not run: the test makes programs for Linux on amd64 and arm64")
	}
	path, cache := t.TempDir(), t.TempDir()
	t.Setenv(envHelpers, "")
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("PATH", path)
	dynamic := filepath.Join(path, "attractor-remote")
	static := filepath.Join(cache, "attractor", "helpers", "attractor-remote-linux-"+runtime.GOARCH)
	if err := errors.Join(os.WriteFile(dynamic, program(t, machine, true), 0o700), os.MkdirAll(filepath.Dir(static),
		0o700)); err != nil {
		t.Fatal(err)
	}
	if got, err := EnvHelper(t.Context(), "linux", runtime.GOARCH); got != dynamic || err != nil {
		t.Errorf("%q, %v, want %s", got, err, dynamic)
	}
	other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	if got, err := EnvHelper(t.Context(), "linux", other); err == nil {
		t.Errorf("for %s: %q", other, got)
	}
	if err := os.WriteFile(static, program(t, machine, true), 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := EnvHelper(t.Context(), "linux", runtime.GOARCH); got != static || err != nil {
		t.Errorf("of two with libraries: %q, %v, want %s", got, err, static)
	}
	if err := errors.Join(os.Rename(dynamic, static), os.WriteFile(dynamic, program(t, machine, false),
		0o700)); err != nil {
		t.Fatal(err)
	}
	if got, err := EnvHelper(t.Context(), "linux", runtime.GOARCH); got != dynamic || err != nil {
		t.Errorf("with a static one: %q, %v, want %s", got, err, dynamic)
	}
}
