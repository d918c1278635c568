//go:build unix && !linux

package cli

import "os"

// buffered returns how many bytes a pipe or a socket holds, which BSDs give as its size.
func buffered(_ *os.File, info os.FileInfo) int64 { return info.Size() }
