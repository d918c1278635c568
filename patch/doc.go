// Package patch reads and applies patches in the v4a format, in which OpenAI's models write changes
// to several files at once:
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
// A patch is applied completely or not at all: everything is parsed ([Parse]), read and matched
// ([NewPlan]) before anything is written ([Plan.Apply]). If a write fails, the files written before
// it are restored. Errors are an [Error], which tells the model what to change.
//
// [Files] is what the package needs of a file system. To patch the files of an env.Environment,
// call coding.Patch. The package makes no patches, and does not read unified diffs.
//
// # How hunks are found
//
// The search for a hunk starts where the previous hunk ended. It compares lines exactly, then
// ignores white space at the ends of lines, then indentation too, and finally treats typographic
// dashes, quotes and spaces as plain ones. A context line (@@ ...) moves the start behind the first
// line that equals it; several of them narrow it down. A hunk that ends with *** End of File must
// match the end of the file. Context lines of a hunk keep the file's own text.
//
// Indentation is ignored only if one rule turns the indentation of the hunk's old lines into the
// file's: more or less white space in front of every line, or another unit, such as tabs for
// spaces. The new lines are indented by the same rule, and the [Change] reports it.
//
// # What is kept
//
// A file keeps its mode, its byte order mark and the line endings of untouched lines. A new line
// ends like the line it replaces, or else like most lines of the file. An updated file ends with a
// newline. Add and Move replace a file that exists.
package patch
