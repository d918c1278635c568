// Package profile describes what a model family is given to work with: a prompt, tools and defaults, as data.
//
// A profile is a plain value. Each folder below this package makes one; a new profile is a new folder.
package profile
