package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// archive is one of the archives of a release, as .goreleaser.yaml names them.
type archive struct {
	file, sum    string // of the SHA-256
	os, arch     string // as Go names them
	windows      bool   // it is a .zip, and its programs end with .exe
	dir, version string
}

// archives returns the archives of a release in a directory that goreleaser has made, in the order
// of checksums.txt.
func archives(dist string) (list []archive, err error) {
	sums, err := os.ReadFile(filepath.Join(dist, "checksums.txt"))
	if err != nil {
		return nil, err
	}
	line := regexp.MustCompile(`(?m)^([0-9a-f]{64})  (attractor_(.+)_([a-z]+)_([a-z0-9]+)\.(tar\.gz|zip))$`)
	for _, m := range line.FindAllStringSubmatch(string(sums), -1) {
		list = append(list, archive{sum: m[1], file: m[2], version: m[3], os: m[4], arch: m[5], windows: m[6] == "zip",
			dir: dist})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s names no archive: make it by goreleaser", filepath.Join(dist, "checksums.txt"))
	}
	return list, nil
}

// read calls a function with each file of an archive, whose checksum it compares first.
func (a archive) read(take func(name string, content []byte)) error {
	data, err := os.ReadFile(filepath.Join(a.dir, a.file))
	if err != nil {
		return err
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(data)); sum != a.sum {
		return fmt.Errorf("%s has the checksum %s instead of %s", a.file, sum, a.sum)
	}
	if a.windows {
		err = zipped(data, take)
	} else {
		err = tarred(data, take)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", a.file, err)
	}
	return nil
}

// tarred calls a function with each file of a .tar.gz.
func tarred(data []byte, take func(name string, content []byte)) error {
	plain, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	for files := tar.NewReader(plain); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		content, err := io.ReadAll(files)
		if err != nil {
			return err
		}
		take(header.Name, content)
	}
}

// zipped calls a function with each file of a .zip.
func zipped(data []byte, take func(name string, content []byte)) error {
	files, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	for _, f := range files.File {
		content, err := fs.ReadFile(files, f.Name)
		if err != nil {
			return err
		}
		take(f.Name, content)
	}
	return nil
}
