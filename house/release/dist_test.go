package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stub is a program in the place of attractor, which says how it was called, and ends as its first
// argument says.
const stub = `#!/bin/sh
case "$1" in
--version) echo "attractor v0.987.0 stub" ;;
exit) exit 7 ;;
term) trap 'echo ended; exit 143' TERM; echo ready; i=0; while [ $i -lt 6000 ]; do sleep 0.01; i=$((i + 1)); done ;; # at most a minute
*) printf '<%s>' "$@" ;;
esac
`

// newDist makes what goreleaser leaves, with a program of one's own.
func newDist(t *testing.T, program string) string {
	t.Helper()
	dist := t.TempDir()
	var sums strings.Builder
	for _, platform := range []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64", "windows_amd64",
		"windows_arm64"} {
		files := []string{"attractor", program, "attractor-env", stub, "attractor-remote", stub,
			"LICENSE", "a license", "man/attractor.1", ".TH x", "man/attractor-run.1", ".TH y",
			"completions/attractor.bash", "bash", "completions/_attractor", "zsh", "completions/attractor.fish", "fish"}
		name, data := "attractor_0.987.0_"+platform, []byte(nil)
		if strings.HasPrefix(platform, "windows") {
			name, data = name+".zip", zipOf(t, "attractor.exe", program)
		} else {
			name, data = name+".tar.gz", tarOf(t, files...)
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), name)
		write(t, filepath.Join(dist, name), string(data))
	}
	fmt.Fprintf(&sums, "%x  attractor_0.987.0_linux_amd64.cdx.json\n", sha256.Sum256(nil))
	write(t, filepath.Join(dist, "checksums.txt"), sums.String())
	return dist
}

// tarOf returns a .tar.gz of files, given as names and texts in turn.
func tarOf(t *testing.T, files ...string) []byte {
	t.Helper()
	var data bytes.Buffer
	packed := gzip.NewWriter(&data)
	w := tar.NewWriter(packed)
	for i := 0; i < len(files); i += 2 {
		if err := w.WriteHeader(&tar.Header{Name: files[i], Mode: 0o755, Size: int64(len(files[i+1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

func zipOf(t *testing.T, name, text string) []byte {
	t.Helper()
	var data bytes.Buffer
	w := zip.NewWriter(&data)
	f, err := w.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

// served plays the host of downloads.
func served(t *testing.T, dist string) string {
	t.Helper()
	s := httptest.NewServer(http.FileServer(http.Dir(dist)))
	t.Cleanup(s.Close)
	return s.URL
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
