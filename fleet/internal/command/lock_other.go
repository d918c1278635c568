//go:build !unix

package command

// lockDir does nothing here.
func lockDir(string) (unlock func(), err error) { return func() {}, nil }
