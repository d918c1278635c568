// Package fuzzy compares text that a model has copied from a file with the file. It holds what edits and patches overlook alike:
// indentation, typographic characters, and how the place that comes nearest is found.
package fuzzy
