// Package sessions finds and lists the sessions of a store, and says where each of them works.
//
// [Find] finds a session by the beginning of its id, [List] lists sessions for people, and
// [UserStore] returns the store of the command's sessions. The root package and package agent open
// sessions and read what has happened in them.
package sessions
