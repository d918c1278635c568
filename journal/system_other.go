//go:build !linux

package journal

// sync also flushes the drive's cache on systems that have a call for it.
func (f diskFile) sync() error { return f.Sync() }
