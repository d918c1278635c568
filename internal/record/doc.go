// Record makes the recording in the README: it plays a scene with the real command on a real
// terminal (tmux), and writes what the terminal showed, at the times at which it showed it, as an
// SVG that a browser plays in an <img>. Only the model is scripted.
//
//	go run ./internal/record
//
// The SVG says as its description what the terminal showed in the end, with all that had scrolled
// by. A test plays the scene again and compares.
package main
