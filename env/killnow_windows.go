package env

// KillNow does nothing: commands are not supported on Windows.
func (l *Local) KillNow() error { return nil }
