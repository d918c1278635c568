//go:build !linux && !darwin

package main

import (
	"errors"
	"os"
)

// reopenTerminal is not supported.
func reopenTerminal(*os.File) (*os.File, error) { return nil, errors.ErrUnsupported }

// discardInput is not supported.
func discardInput(*os.File) {}
