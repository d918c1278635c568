//go:build !linux

package main

import "errors"

// runLandlock returns an error: only Linux has Landlock.
func runLandlock([]string) (int, error) {
	return exitUsage, errors.New("only Linux has Landlock")
}

// runScope returns an error: only Linux has Landlock.
func runScope(args []string) (int, error) { return runLandlock(args) }
