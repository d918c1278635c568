// Package seed gives tests random numbers that are the same in every run, so that a commit has one
// verdict. RAPID_SEED or -rapid.seed chooses others.
package seed
