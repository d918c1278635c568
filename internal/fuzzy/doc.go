// Package fuzzy compares text that a model has copied from a file with that file. Edits and patches
// use it to ignore indentation and typographic characters, and to find the most similar place.
package fuzzy
