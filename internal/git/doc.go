// Package git says what a repository has and what it may start. It reads a repository's files, and
// asks git only where nothing of the repository's configuration could make it start another program
// or use the network, so that it can look at a hostile repository: status runs filters that the
// configuration names, a partial clone fetches missing objects with a program that it names, and
// each new version of git adds new ways. The keys that are known to be harmless are listed instead.
package git
