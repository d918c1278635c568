// Package atomicfile replaces files whole: whoever reads one gets the old content or the new one,
// also after a crash.
package atomicfile
