// Package names formats and compares names for models and people.
package names
