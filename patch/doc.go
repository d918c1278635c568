// Package patch reads and applies the v4a patch format, in which models of OpenAI write changes of several files at once:
//
//	*** Begin Patch
//	*** Update File: src/app.py
//	*** Move to: src/main.py
//	@@ def greet():
//	-    print("Hi")
//	+    print("Hello")
//	*** Add File: hello.txt
//	+Hello
//	*** Delete File: old.txt
//	*** End Patch
//
// It is all or nothing: everything is parsed ([Parse]), read and matched ([Plan]) before anything is written ([Plan.Apply]), and a
// write that fails puts back what was written before it.
//
// # How hunks are found
//
// Hunks are looked for from the place of the one before on, first exactly, then without regard to white space at the ends of
// lines, then at both sides, then with typographic dashes, quotes and spaces taken for plain ones. A context line (@@ ...) moves
// the place behind the first line that is like it; several narrow it down. A hunk that ends with *** End of File has to be the
// file's end. Lines that the hunk only names as context stay as they are in the file.
//
// # What is kept
//
// A file keeps its mode, its byte order mark and the line endings of untouched lines. A new line ends like the one that it replaces,
// or else like most lines of the file. An updated file ends with a newline. Add replaces a file that is there, and so does Move.
package patch
