// Package shellenv is an environment behind a POSIX shell: a directory on a remote system, such as
// a container or a host, where no helper of package remote can be started. It reaches the system by
// running a local command whose last argument is a shell command to run there:
//
//	shellenv.New(ctx, []string{"docker", "exec", "-i", "box", "sh", "-c"}, "/src")
//	shellenv.New(ctx, []string{"kubectl", "exec", "-i", "pod", "--", "sh", "-c"}, "/src")
//	shellenv.New(ctx, []string{"ssh", "host"}, "/home/me/src")
//
// The remote system needs a POSIX shell with cat, chmod, cp, env, find, ln, ls, mkdir, mv,
// readlink, rm, rmdir, sed, stat, uname and wc, of GNU, busybox or macOS, and for env.Replacer also
// flock and sha256sum. The local system needs what env.Local needs to run commands.
//
// Its design:
//
//   - Scripts report errors by exit codes of their own, because tools' messages differ between
//     systems and languages.
//   - A file is replaced only after all of its content has arrived, so that a broken connection
//     does not leave half of it.
//   - A command leads a process group of its own, by setsid or by the shell's set -m. The group's
//     number is the first line of the output, and Kill signals the group with another command.
//   - A command's exit code follows its output. The exit of docker or ssh would not do: they have
//     codes of their own, and end only when nothing holds the output open any more, which a server
//     that the command has started may do forever.
//   - The local end, docker or ssh, is a command of an env.Local, which manages its pipes and its
//     end.
//
// Its limits: there are no terminals. A command that ends by a signal which Kill did not send has
// the exit code of a shell, 128 plus the signal's number. Processes that leave the group, as
// daemons do by setsid, survive Kill. Processes of a broken connection run until Kill or Close.
// Times of files are whole seconds. Open reads the whole file into memory, at most 256 MiB. A
// script with its variables has at most 120 KiB, because Linux limits an argument of a command.
package shellenv
