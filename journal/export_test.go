package journal

// Keep limits the files that a Dir keeps open between two calls.
func (d *Dir) Keep(n int) *Dir {
	d.files.keep = n
	return d
}
