// Package worktree gives a session a git worktree and a branch of its own, so that two sessions in
// one repository meet only when their branches are merged.
//
// [Open] makes one, or goes on in an older one with the same name, and [Worktree.Close] removes it
// if nothing would be lost. A worktree lies in a directory of the user's, outside of the
// repository, so that no tool in the repository finds its files twice. It begins at the commit that
// is checked out in the repository; what is not committed there stays there.
//
// # Decisions
//
//   - Nothing that the repository has is run: no hooks, and git is not called where the
//     repository's configuration could make it start a program. Filters of the user's
//     configuration run as in a checkout, but that of Git LFS downloads nothing.
//   - Git makes and removes branches where Landlock lets it write in the repository only: a command
//     in a sandbox can put links there. The files are written by another git without that, because
//     filters may write elsewhere.
//   - What would be lost is asked of git, and not remembered: a worktree is removed if git finds it
//     clean, and if the checkout that it was made from has all of its commits.
package worktree
