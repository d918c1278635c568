// Package landlock restricts the calling thread, and with it the programs that the thread starts or
// becomes: by Landlock, by dropped capabilities and by a filter of system calls. It exists on Linux
// only. Whoever calls it has locked the thread (runtime.LockOSThread) and lets it end afterwards.
package landlock
