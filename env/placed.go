package env

import "context"

// placedKey is the key of a context's value.
type placedKey struct{}

// Placed returns a context with which a [Local] asks check about each change of a file right before
// it makes it, given the absolute path without links of what it is about to change. An error of
// check ends the change. What changes then lies at that path even if a directory of it is swapped
// for a link meanwhile. All checks of nested calls count. Other environments do not ask.
func Placed(ctx context.Context, check func(place string) error) context.Context {
	if outer := placedCheck(ctx); outer != nil {
		inner := check
		check = func(place string) error {
			if err := outer(place); err != nil {
				return err
			}
			return inner(place)
		}
	}
	return context.WithValue(ctx, placedKey{}, check)
}

// placedCheck returns what Placed has set, or nil.
func placedCheck(ctx context.Context) func(place string) error {
	check, _ := ctx.Value(placedKey{}).(func(place string) error)
	return check
}
