// Package git reads what a repository's files say of it: branch, changed files, last commits. It starts no program, git included, reaches
// no network and obeys no configuration that could name either, so that it can look at a repository that somebody hostile has made.
//
// Git itself cannot be asked safely: status runs the filters that the configuration names, a missing object of a partial clone is fetched
// by a program that it names, and each new version knows new ways. What is not understood here (a split index, reftables, a broken
// file) is left out.
package git
