// Package search finds files and lines in an environment. [Grep] searches contents, as a [Query]
// says, and [Glob] lists files; both respect .gitignore files.
//
// It works over any env.Environment. An environment that can search faster by itself, because it is
// remote or has an index, implements [Searcher] and replaces the engine of this package, even if it
// is wrapped in an env.View.
//
// Hidden files are searched. Files that a .gitignore excludes, .git directories and targets of
// symbolic links are not. The order of results does not depend on what ran in parallel. No index is
// kept, no match spans lines, and no program is started, so results do not depend on what is
// installed.
//
// # The engine
//
// The engine looks for the texts one of which a match must contain, or runs a table-driven
// automaton if there are none. Both may report too many lines; regexp decides. BenchmarkK10_Grep
// and BenchmarkK10_Glob compare the CPU time with that of ripgrep and fd.
package search
