// Package sandbox confines the commands of an env.Local: what they can read, what they can write,
// and whether they reach the network.
//
// [New] tries a level out and returns an error, which says what to install, if it does not work on
// this machine. There is no fallback. [Sandbox.Confine] adds the sandbox to the options of an
// env.Local:
//
//	box, err := sandbox.New(dir, sandbox.Options{Level: sandbox.Workspace})
//	...
//	local, err := env.NewLocal(dir, box.Confine(env.LocalOptions{}))
//	...
//	e := env.Protect(local, box.Protection())
//
// Close the Local before the Sandbox.
//
// Commands in a sandbox write only in the working directory and the other roots, and in /tmp, the
// home directory and ~/.cache, which are private. They see the system's programs, the tool chains
// of the host's environment, and caches of downloaded packages, but nothing else of the home
// directory. Files in the roots that start programs outside are read-only even if they do not
// exist. The file tools of an env.Local are not in the sandbox: they keep to the roots, and
// env.Protect with [Sandbox.Protection] refuses the same files.
//
// docs/security/sandbox.md says what each level promises.
//
// # Decisions
//
//   - It is a Launch, nothing else. env knows no sandbox.
//   - What is not shown does not exist. It begins with nothing and adds the system, tool chains and
//     roots.
//   - A placeholder is an empty directory, because a mount needs something to cover. Each command
//     holds a lock while anything of it runs; placeholders are removed under a lock that excludes
//     it, since removing one would remove its mount everywhere.
//   - Every directory above a mount is a mount where commands can write; otherwise they could
//     rename it.
//   - A command's variables travel in a file, to the inside. In the environment of bubblewrap or
//     the helper they would act outside.
//   - The helper is a program of its own, because it starts with every command. No SOCKS: in its
//     protocols nothing names the host.
package sandbox
