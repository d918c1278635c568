// Package profile is what a model family is given to work with: a prompt, a set of tools and defaults, as data.
//
// A profile is a plain value; the folders below this package make one each. To add a profile is to add a folder.
package profile
