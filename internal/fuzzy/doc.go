// Package fuzzy compares text that a model has copied from a file with that file. Edits and patches use it to overlook indentation
// and typographic characters, and to find the place that the text resembles most.
package fuzzy
