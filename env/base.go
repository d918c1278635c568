package env

import "context"

// Base is an Environment for wrappers to embed. It forwards what the wrapped environment reports
// about itself and its files: confinement, where names lead, what they are, which files need
// approval, and the locks of files. It does not forward the optional ways to read and change files
// (Replacer, the rest of Tree, View), because these would bypass the wrapper's Open and WriteFile.
// A wrapper that leaves files alone forwards them itself.
type Base struct{ Environment }

// Confinement implements Confined.
func (b Base) Confinement() Confinement { return ConfinementOf(b.Environment) }

// Guarded implements Guard.
func (b Base) Guarded(ctx context.Context, name string) string {
	return guardedBelow(ctx, b.Environment, name)
}

// Exposed implements Guard.
func (b Base) Exposed(ctx context.Context) string { return Exposed(ctx, b.Environment) }

// Resolve implements Resolver.
func (b Base) Resolve(ctx context.Context, name string) (string, error) {
	return Resolve(ctx, b.Environment, name)
}

// Lock implements Locker.
func (b Base) Lock(ctx context.Context, names ...string) (unlock func(), err error) {
	return Lock(ctx, b.Environment, names...)
}

// Lstat implements a part of Tree.
func (b Base) Lstat(ctx context.Context, name string) (Node, error) {
	return TreeOf(b.Environment).Lstat(ctx, name)
}

// Readlink implements a part of Tree.
func (b Base) Readlink(ctx context.Context, name string) (string, error) {
	return TreeOf(b.Environment).Readlink(ctx, name)
}
