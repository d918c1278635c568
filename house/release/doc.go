// Command release prepares a release of the modules of this repository and tries it, as
// RELEASING.md describes:
//
//	go -C house run ./release v0.1.0
//
// It works in a clone in a temporary directory. The library's tag v0.1.0 is on the commit that is
// checked out. There, the modules in cloud, fleet and otel have a replace directive for
// development, with which go install refuses a module. The commit after it, which is on no branch,
// requires v0.1.0 instead, and has the tags cloud/v0.1.0, fleet/v0.1.0 and otel/v0.1.0.
//
// Then release installs the programs by these tags into an empty module cache, compares the
// versions that they print, runs the demo, and builds a new module that uses the library. Git
// answers the requests for the repository's address from the clone. At the end release prints the
// command that publishes the tags. It publishes nothing itself, and the checkout stays as it was.
package main
