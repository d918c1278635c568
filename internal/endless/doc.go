// Package endless has a model server whose answers never end, in all wire formats. It is for tests
// of what an answer may cost until it is cut off.
package endless
