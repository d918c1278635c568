//go:build !linux && !darwin

package env

import "io/fs"

// nodeOf returns a Node with no more than an Info.
func nodeOf(name string, fi fs.FileInfo) Node { return Node{Info: infoOf(name, fi)} }
