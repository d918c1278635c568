// Package capture keeps output that may be long in bounded memory: its beginning, its end, and exact counts of what is missing between
// them.
package capture
