//go:build !linux

package env

import "os"

// refuseKernelHandle does nothing: only Linux has such files.
func refuseKernelHandle(*os.File) error { return nil }
