// Package texts formats, compares and reads text for models and people: names, the end of what a
// program prints, and JSON files that people write.
package texts
