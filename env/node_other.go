//go:build !linux && !darwin

package env

import "io/fs"

// nodeOf returns what Stat says, too.
func nodeOf(name string, fi fs.FileInfo) Node { return Node{Info: infoOf(name, fi)} }
