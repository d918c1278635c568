// Package sessions finds and lists the sessions of a store, and says where each of them works.
//
// [Find] takes the beginning of an id, [List] returns what a person has to see of many, and
// [UserStore] is the store of the command's sessions. A session is opened by the root package or by
// package agent; what has happened in it is read there, too.
package sessions
