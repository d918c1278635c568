package env

import "context"

// A View is a wrapper that has the same files as another environment, under the same names and with
// the same working directory. Optional ways to read files of that environment, such as
// search.Searcher, can then be used directly, and the wrapper does not have to know them.
type View interface {
	// Below returns the other environment. The caller is about to do op with name there, in case
	// the wrapper records it. It calls done once with the outcome, or never if it did nothing.
	Below(ctx context.Context, op, name string) (e Environment, done func(error))
}
