// Package shell reads shell scripts without running them, and judges which commands only read.
//
// Parse lists every simple command that a script may run: those of lists, pipes, loops, subshells and substitutions, and those that
// wrappers such as timeout and sh -c run. A permission rule can then look at each of them. What cannot be known without running the
// script is Unclear, with the reason.
//
// Scripts are read as Bash. Where a POSIX shell would run something else, the script is Unclear.
//
// Reading has the table of commands that only read. It knows their options, because find, sort, rg, git and others can also write
// files and run programs. Which files may be read is left to the caller, who gets their names.
//
// Two things are taken on trust. The programs found by a bare name are taken for the system's own, so a PATH that begins with a directory
// of the workspace can put another program in their place. The environment that the host passes to commands is taken to be harmless too:
// GREP_OPTIONS, LESSOPEN or GIT_EXTERNAL_DIFF there are not seen.
package shell
