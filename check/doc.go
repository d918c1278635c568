// Package check runs commands that say whether a task is done, such as a project's tests, and keeps
// the evidence: an input is verified only if the checks passed after the last change of the tree.
//
// [New] makes the [Checks] of a session, and a [Report] is what they have found. A Checks is asked
// before each input ends ([Checks.BeforeStop]). It runs the commands in the session's environment,
// and compares the tree before and after them by the hash of its content. If a command fails, the
// agent is sent back to work with its output, a bounded number of times. When the input has ended,
// [Checks.End] compares the tree once more and says what became of it. What the model says changes
// nothing about that. Reports are notes of the session.
//
// The evidence is about the tree as package checkpoint records it. Ignored files, and what is
// outside of the working directory, may change unnoticed. Nothing judges the commands: one that
// tests nothing verifies anything.
package check
