//go:build !linux

package env

import "context"

// openDir opens files by name: on this platform only os.Root keeps them inside the directory.
func (l *Local) openDir(_ context.Context, name string) (Dir, error) {
	return &namedDir{env: l, name: name}, nil
}
