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
// A hunk is looked for from the end of the one before on: first exactly, then without regard to white space at the ends of lines,
// then to indentation as well, then with typographic dashes, quotes and spaces taken for plain ones. A context line (@@ ...) moves
// the place behind the first line that equals it; several narrow it down. A hunk that ends with *** End of File has to be at the
// end of the file. Lines that the hunk only names as context stay as they are in the file.
//
// Indentation is overlooked where one rule turns that of the hunk's old lines into the file's: more or less white space in front of
// every line, or another unit, such as tabs for spaces. The new lines are indented by the same rule, and the [Change] reports it.
//
// # What is kept
//
// A file keeps its mode, its byte order mark and the line endings of untouched lines. A new line ends like the one that it replaces,
// or else like most lines of the file. An updated file ends with a newline. Add replaces a file that is there, and so does Move.
package patch
