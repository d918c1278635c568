package git

import "io/fs"

// trusted trusts everybody: owners are not looked at on Windows.
func trusted(fs.FileInfo, fs.FileInfo) bool { return true }
