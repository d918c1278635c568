package sandbox

// find returns the mechanism of a level.
func find(dir string, o *Options) (mechanism, error) {
	if o.Level == WorkspaceWeak {
		return newLandlock(dir, o)
	}
	return newBubblewrap(dir, o)
}
