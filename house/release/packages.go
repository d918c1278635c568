package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// packages makes the packages of npm and the formula of Homebrew, below the directory of a release
// that goreleaser has made, and prints how to publish them. The URL is where the archives will be.
func packages(out io.Writer, dist, url string) error {
	list, err := archives(dist)
	if err != nil {
		return err
	}
	if url == "" {
		url = "https://" + library + "/releases/download/v" + list[0].version
	}
	npm, brew := filepath.Join(dist, "npm"), filepath.Join(dist, "homebrew")
	if err := os.RemoveAll(npm); err != nil {
		return err
	}
	if err := npmPackages(npm, list); err != nil {
		return err
	}
	if err := os.MkdirAll(brew, 0o777); err != nil {
		return err
	}
	if err := formula(filepath.Join(brew, "attractor.rb"), url, list); err != nil {
		return err
	}
	file, err := filepath.Abs(filepath.Join(brew, "attractor.rb"))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, `To publish the packages, when the release is public:

%s
  git clone https://github.com/attractor-go/homebrew-tap && cd homebrew-tap && mkdir -p Formula
  cp %s Formula/ && git add Formula && git commit -m "attractor %s" && git push
`, npmPublishing(npm, list), file, list[0].version)
	return err
}
