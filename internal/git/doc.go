// Package git reads the branch, the changed files and the last commits of a repository from its files. It starts no program, uses no
// network, and ignores configuration that names either, so that it can read a hostile repository.
//
// Running git would not be safe: status runs filters that the configuration names, a partial clone fetches missing objects with a
// program that it names, and each new version of git adds new ways. The package omits what it does not understand, such as a split
// index, reftables or a broken file.
package git
