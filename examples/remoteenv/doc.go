// Package remoteenv is a worked example of an environment of one's own: a directory in another place, such as a container or a
// host, which is reached by running a command that takes a shell command there as its last argument:
//
//	remoteenv.New(ctx, []string{"docker", "exec", "-i", "box", "sh", "-c"}, "/src")
//	remoteenv.New(ctx, []string{"kubectl", "exec", "-i", "pod", "--", "sh", "-c"}, "/src")
//	remoteenv.New(ctx, []string{"ssh", "host"}, "/home/me/src")
//
// Nothing has to be installed there but a POSIX shell with cat, chmod, cp, env, find, ln, ls, mkdir, mv, readlink, rm, rmdir, sed, stat,
// uname and wc, of GNU, busybox or macOS, and flock and sha256sum for changes by several at once (env.Replacer); and here, what env.Local needs to run commands. Copy it and change it: a container's own
// API, or a program on the far side, does the same with fewer processes. What an environment has to do is written in package env, at
// Environment; whether it does, envtest.Suite says, as in this package's test.
//
// What shaped it:
//
//   - Errors come as exit codes that the scripts choose, because tools' messages differ between systems and languages.
//   - A file is written only when all of it has arrived: a connection that breaks must not leave half of one.
//   - A command leads a process group of its own, by setsid or by the shell's set -m. The group's number is the first line that
//     comes back, and Kill signals the group by another command.
//   - A command's exit comes in band, behind its output, and not as the exit of docker or ssh: these have codes of their own, and
//     end only when nothing holds the output open any more, which a server that the command has started may do for ever.
//   - The near end, docker or ssh, is a command of an env.Local, which sees to its pipes and to its end.
//
// What it does not do: there are no terminals; a command that ends by a signal of its own making has exit code 128 and the signal's
// number, as a shell has it; what leaves the process group, as daemons do by setsid, survives Kill, and what a broken connection
// leaves does so until Kill or Close; times of files are whole seconds; Open reads the whole file into memory; a script with its
// variables takes 128 KiB at most on Linux, as any argument of a command.
package remoteenv
