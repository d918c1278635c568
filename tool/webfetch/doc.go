// Package webfetch has the tool web_fetch, which gives a model the text of a public web page.
// Profiles do not have it: a host that wants it adds what [New] returns to agent.Options.Tools. It
// runs no scripts of a page, does not search the web, and cannot log in.
//
// The tool runs in the host's process, not in its environment. It connects only to public
// addresses, sends no cookies, keys or other data of the user, and uses no proxy. A model can still
// tell a server something by the URL that it asks for, so a host should let rules or a person
// decide about the hosts in [tool.Access].
//
// # Decisions
//
//   - No second model reads the page, because it would escape the session's budget and records. A
//     redirect to another host is reported, because the permission was for the first.
package webfetch
