package env

// eachProcess does nothing: commands are not supported on Windows.
func (l *limits) eachProcess(Limits, bool) error { return nil }
