//go:build !unix

package main

import "errors"

func runCommand(args, environ []string) (code int, err error) {
	return exitCannotRun, errors.ErrUnsupported
}
