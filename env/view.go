package env

import "context"

// View is implemented by wrappers whose files are those of another environment, under the same names and from the same working
// directory, so that the other's own ways to read them can be used, such as search.Searcher. A wrapper does not have to know
// what these are.
type View interface {
	// Below returns the other environment. What is going to be done there is op with name, in case the wrapper keeps account
	// of it; done is called once with how it ended, or never if nothing is done there.
	Below(ctx context.Context, op, name string) (e Environment, done func(error))
}
