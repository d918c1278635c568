// Package search finds files and lines in an environment: a walk that respects .gitignore files, [Grep] and [Glob].
//
// It works over any env.Environment. One that can search faster by itself, because it is remote or has an index, implements
// [Searcher] and is used instead of the engine here, also when it is wrapped in an env.View; one that does not loses speed and
// nothing else.
//
// No other program is started, so results do not depend on what is installed. The engine looks for the rarest byte of the texts that
// a match must contain, and where there are none runs a table-driven automaton; regexp has the last word where these err.
// BenchmarkGrep and BenchmarkGlob compare its CPU time with that of ripgrep as a process.
//
// Hidden files are searched. What a .gitignore excludes, what is in a .git directory and what lies behind a symbolic link
// is not. Results are in a fixed order whatever ran in parallel.
package search
