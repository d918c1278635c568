package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/attractor-go/attractor/env"
)

// errNoBrowser reports that no browser can be opened here.
var errNoBrowser = errors.New("there is no browser to open")

// openBrowser opens a web page in the user's browser, without a shell. It returns when the program
// that opens it has started. That program may become the browser, so it is not ended.
func openBrowser(_ context.Context, page string) error {
	argv, err := browser(runtime.GOOS, os.Getenv, page)
	if err != nil {
		return err
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return fmt.Errorf("%w: %w", errNoBrowser, err)
	}
	cmd := exec.Command(path, argv[1:]...)
	cmd.Env = env.FilterVars(env.VarsDefault, os.Environ(), nil)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // what was shown can be opened by hand
	return nil
}

// browser returns the words of the command that opens a page on a system.
func browser(system string, getenv func(string) string, page string) ([]string, error) {
	u, err := url.Parse(page)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, errors.New("only pages with http and https are opened")
	}
	switch page = u.String(); system {
	case "darwin":
		return []string{"/usr/bin/open", page}, nil
	case "windows":
		return []string{filepath.Join(getenv("SystemRoot"), "System32", "rundll32.exe"), "url.dll,FileProtocolHandler",
			page}, nil
	}
	if getenv("DISPLAY") == "" && getenv("WAYLAND_DISPLAY") == "" {
		return nil, fmt.Errorf("%w: neither DISPLAY nor WAYLAND_DISPLAY is set", errNoBrowser)
	}
	return []string{"xdg-open", page}, nil
}
