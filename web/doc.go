// Package web shows sessions in a browser.
//
// A [Server] offers a page on the loopback interface: sessions of a journal.Store, also while they
// run, in this process or in others. [Export] writes the same page with one session as a file that
// opens without a server and without a network. Both use a [Trace], which folds the journal of a
// session into rows for the timeline and sums for the charts. The page gets the rows, and the
// events behind a row when somebody opens it. It is plain JavaScript in page/, which never makes
// markup of a text.
//
// The page steers only sessions that Options.Own returns. There are no users and no passwords:
// whoever has the page's address, with its token, on this machine sees all sessions of the store.
// It is not for other machines.
//
// # Decisions
//
//   - A journal is folded once, in Go; the live page and the exported file get the same JSON, and
//     the page only draws it. A session that is shown is in memory with its events.
//   - The journal is the source, so a session of any process can be watched. The host of a session
//     adds what the journal does not have yet, and takes lines of docs/protocol.md from the page.
//   - Texts reach the page as JSON and the document as text nodes: trusted types and the policy for
//     scripts leave no other way.
//   - Charts and the list of rows are our own, because a library for charts would be a third of the
//     page, and needs as much code around it.
package web
