// Package instructions finds what people have written for agents: AGENTS.md and its relatives, in
// the directories of a project and in the user's home directory.
//
// [Find] returns the documents for the system prompt of a session: those of the user, and those of
// every directory from the repository's root down to the working directory. The documents of
// directories below come when the session first reads or changes a file there, by the middleware of
// [Below]. What was sent to the model before stays as it is. A session of package agent calls Find
// itself, with its Options.Documents; a host adds Below, with the same [Options], and the user's
// documents from [ReadUser].
//
// A document may import other files of its project, in the form @docs/style.md. The imported file
// follows the document as a document of its own. Imports in code and in HTML comments do not count.
//
// Documents are text and start nothing, so they need no trust. They are cleaned of what cannot be
// seen, and limited. What is wrong with one is a [Mistake]; the others are used.
//
// # Decisions
//
//   - An imported file is a document of its own behind the one that imports it, so that the text
//     stays as its author wrote it, and nothing is there twice.
//   - Documents of directories below are notes, one each: a note says whether the model has its
//     text, also after a resume and a compaction.
//   - The front matter of rules is read line by line: patterns such as **/*.ts without quotes are
//     not YAML. So agent, which renders the prompt, needs no YAML either.
package instructions
