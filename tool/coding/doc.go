// Package coding has the tools of a coding agent, which read, write and edit files, run commands and search. Each tool has a file; code
// that several tools share has files of its own.
//
// The tools work on any env.Environment and have no state. Their results are written for a model: an error says what to do next. A
// [Dialect] gives the tools the words of a model family. The profiles build the tools of vendors' own agents on a dialect and on
// [RunCommand], [RunPatch] and [Dialect.ReadImage].
package coding
