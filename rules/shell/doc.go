// Package shell reads shell scripts without running them, and judges which commands only read.
//
// [Parse] lists every simple [Command] that a script may run: those of lists, pipes, loops,
// subshells and substitutions, and those that wrappers such as timeout and sh -c run. A permission
// rule can then look at each of them. What cannot be known without running the script is Unclear,
// with the reason.
//
// Scripts are read as Bash. Where a POSIX shell would run something else, the script is Unclear.
//
// [Reading] has the table of commands that only read. It knows their options, because find, sort,
// rg, git and others can also write files and run programs. Which files may be read is left to the
// caller, who gets their names.
//
// [Machine] says where commands run. Git commands are taken for reading only if no configuration
// that applies in their directory names a program, and if git can find no other repository there. A
// program with a bare name is taken for the system's own unless PATH finds it in the workspace.
// What else the user's environment and settings make shells and programs do, such as BASH_ENV, is
// taken to be wanted.
package shell
