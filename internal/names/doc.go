// Package names shows names of files to models and people, who must be able to tell where a name ends.
package names
