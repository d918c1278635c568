// Package await lets tests wait for what happens on another goroutine or in another process.
package await
