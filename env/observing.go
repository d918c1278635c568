package env

import "context"

// observingKey is the key of a context's value.
type observingKey struct{}

// Observing returns a context that says of commands started with it whether they have to run where
// they can change nothing, as a LocalOptions.Launch decides; see [IsObserving].
func Observing(ctx context.Context, on bool) context.Context {
	return context.WithValue(ctx, observingKey{}, on)
}

// IsObserving reports what [Observing] has said last.
func IsObserving(ctx context.Context) bool {
	on, _ := ctx.Value(observingKey{}).(bool)
	return on
}
