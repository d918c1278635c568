// Package workspace makes the workspaces of a fleet's tasks: clones of repositories, directories,
// and empty ones, on this machine or elsewhere, recorded so that they survive the machine.
//
// [New] returns the Workspaces of a [fleet.Worker]. [Options] says where they are made, which
// credentials clones may use, and what may be cloned; an [Environment] is a kind of place where
// commands run. The package runs no sessions and decides nothing about tasks.
//
// # Clones
//
// A repository is cloned over https or ssh by git, on the worker's machine, with nothing of the
// user's configuration. Nothing that the repository brings is run: no hooks, filters, submodules or
// LFS. Credentials have names, and only the clone has them. The commits then go to where the task
// works, so that place needs git but no network. The history is shallow.
//
// # Points
//
// A point names the cloned commit, the tree of files, and the branches. Files that the commit has
// are not stored. The next owner clones the same commit, and has the same files, with their modes
// and links, the same branches, tags, commits, and HEAD. It does not have: ignored files that
// Task.Include does not name, files that the worker cannot read, and what .git has beside: the
// index (what was added is there as a change), its configuration and hooks, a merge or rebase under
// way, remote branches, branches whose names are not UTF-8, and all entries of the stash but the
// newest. A repository within the workspace is there as its files, without its .git.
//
// Objects are named tree/TASK/... and belong to the task.
//
// # Environments
//
// An environment is this machine, with or without a sandbox, or anything that a command reaches: a
// container for each task, as here, a pod, another machine. See [Environment].
//
//	{"command": ["docker", "exec", "-i", "{name}"],
//	 "create": ["docker", "run", "-d", "--rm", "--name", "{name}", "golang", "sleep", "infinity"],
//	 "destroy": ["docker", "rm", "-f", "{name}"]}
//
// A worker of several tenants gives each task a sandbox or a container: commands that nothing
// confines can read what other tasks have on the machine.
//
// # Trust
//
// What a task leaves in its repository is never run or believed outside of where its commands run:
// branches and commits are read by git there, in the task's sandbox, and the patch is made in the
// worker's own clone from the recorded files.
package workspace
