// Package search finds files and lines in an environment: a walk that respects .gitignore files, [Grep] and [Glob].
//
// It works over any env.Environment. One that can search faster by itself, because it is remote or has an index, implements
// [Searcher] and is used instead of the engine here; one that does not, a wrapper for example, loses speed and nothing else.
//
// Hidden files are searched. What a .gitignore excludes, what is in a .git directory and what lies behind a symbolic link
// is not. Results are in a fixed order whatever ran in parallel.
package search
