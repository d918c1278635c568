package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// archive is one of the archives of a release, as .goreleaser.yaml names them.
type archive struct {
	file, sum    string // of the SHA-256
	os, arch     string // as Go names them
	windows      bool   // it is a .zip, and its programs end with .exe
	dir, version string
}

// archives returns the archives of a release in a directory that goreleaser has made, in the order of checksums.txt.
func archives(dist string) (list []archive, err error) {
	sums, err := os.ReadFile(filepath.Join(dist, "checksums.txt"))
	if err != nil {
		return nil, err
	}
	line := regexp.MustCompile(`(?m)^([0-9a-f]{64})  (attractor_(.+)_([a-z]+)_([a-z0-9]+)\.(tar\.gz|zip))$`)
	for _, m := range line.FindAllStringSubmatch(string(sums), -1) {
		list = append(list, archive{sum: m[1], file: m[2], version: m[3], os: m[4], arch: m[5], windows: m[6] == "zip", dir: dist})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s names no archive: make it by goreleaser", filepath.Join(dist, "checksums.txt"))
	}
	return list, nil
}

// programs returns the programs of an archive by their names.
func (a archive) programs() (map[string][]byte, error) {
	data, err := os.ReadFile(filepath.Join(a.dir, a.file))
	if err != nil {
		return nil, err
	}
	found := map[string][]byte{}
	take := func(name string, content io.Reader) error {
		if base := strings.TrimSuffix(name, ".exe"); base != "attractor" && base != "attractor-env" {
			return nil
		}
		found[name], err = io.ReadAll(content)
		return err
	}
	if a.windows {
		err = zipped(data, take)
	} else {
		err = tarred(data, take)
	}
	if err == nil && len(found) == 0 {
		err = errors.New("it has no program")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.file, err)
	}
	return found, nil
}

// tarred calls a function with each file of a .tar.gz.
func tarred(data []byte, take func(name string, content io.Reader) error) error {
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
		if err := take(header.Name, files); err != nil {
			return err
		}
	}
}

// zipped calls a function with each file of a .zip.
func zipped(data []byte, take func(name string, content io.Reader) error) error {
	files, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	for _, f := range files.File {
		content, err := f.Open()
		if err != nil {
			return err
		}
		if err := errors.Join(take(f.Name, content), content.Close()); err != nil {
			return err
		}
	}
	return nil
}
