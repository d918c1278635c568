// Package checkpoint records the tree of a workspace before and after the calls of a session that
// may change it, shows what the session has changed, and takes it back without losing what anybody
// else has changed since.
//
// A [Recorder] records trees; a [Tracker] does that around the calls of a session, as its
// middleware, and keeps a [Point] for each. [Changes] compares two trees, [Compose] says what a
// session has changed over its points, and [NewPlan] and [Undo] take that back. [NewDiff] shows it.
//
// A tree is recorded through an [env.Environment], so it may be on another machine; git is not
// needed. Its files go to a [Store], which holds each content once, compressed. A [Tree] names the
// root of a hash tree, so two trees are equal if their roots are, and comparing trees reads only
// the directories that differ.
//
// Files that .gitignore files exclude, .git and what lies outside of the working directory are not
// recorded, so they are never put back. The effects of commands elsewhere, such as on a database,
// cannot be taken back.
//
// # Decisions
//
//   - What differs between two calls was somebody else. Changes of a session are composed path by
//     path, and a path is put back only if it is as the session left it. Nothing that is not
//     recorded is ever removed.
//   - A Plan is data: people see it, and its steps can be repeated, so a killed undo is finished
//     from its file. Each step compares again right before it changes something.
//   - The point of an undo is made of the tree before it and of the plan, not of the files
//     afterwards, so taking it back touches nothing that somebody else has changed meanwhile.
package checkpoint
