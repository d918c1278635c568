// Package refdocs writes the pages in docs/reference from the code, for tests that keep them equal to it. The tests of internal/cli and of
// fleet/internal/command write the pages about their commands, and those of this package all others.
package refdocs
