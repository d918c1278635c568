//go:build !unix

package cli

import "os"

// unread reports false: what a pipe holds is not known here.
func unread(*os.File) bool { return false }
