package env

import (
	"io/fs"
	"os"
)

// On Windows opening a named pipe does not block, and directories need no flag.
const (
	openFlags = os.O_RDONLY
	dirFlags  = os.O_RDONLY
)

// keepOwner does nothing: on Windows a file's access list comes from its directory.
func keepOwner(*os.File, fs.FileInfo) error { return nil }
