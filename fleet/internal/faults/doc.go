// Package faults runs a fleet of real processes and kills, stops and cuts off its parts. All of it
// is in tests: a scripted model serves sessions whose effects are also counted outside of the
// fleet, and afterwards nothing may have happened twice or be missing. The longer forms print
// figures:
//
//	go test ./internal/faults -run P8_Faults -p8.sessions 200 -timeout 1h -v
//	go test ./internal/faults -run P8_Figures -p8.sessions 200 -timeout 1h -v
package faults
