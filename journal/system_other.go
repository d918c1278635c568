//go:build !linux

package journal

// sync asks the drive to write its cache as well, where the system makes that a call of its own.
func (f diskFile) sync() error { return f.Sync() }
