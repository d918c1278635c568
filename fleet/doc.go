// Package fleet runs tasks, each a session of package agent, on many machines.
//
// A [Client] of a tenant submits tasks, watches and steers them, and answers what they ask. A
// [Worker] claims tasks of all tenants, each for as long as its lease holds, and goes on with those
// of workers that have died. Between them is an [Engine], which keeps everything and runs nothing:
// package natsfleet has one on NATS JetStream, package memfleet one in memory. Package fleettest
// checks that an engine keeps its contract.
//
// [Sessions] makes a worker's host of the options of sessions, and package workspace makes the
// places where tasks work. The package starts no machines and no workers. A program that runs a few
// sessions in one process needs none of it.
//
// # What holds
//
// A task has one owner at a time. Its session is a fenced journal, so a worker that was cut off or
// stopped for a while appends nothing and begins no effect when it comes back. The workspace is
// recorded before each result is, so the next owner begins where the journal ends. An effect that
// had begun when its worker died is not repeated: the model is told that its outcome is unknown.
//
// What a worker began just before its lease ended may still come to its end: a command that runs
// then is ended within moments of it, and an effect outside of the workspace happens once, unseen
// by the next owner.
//
// # Tenants
//
// What belongs to one tenant is reached through its [Space] and nothing else. A client has the
// space of one tenant; a worker opens those that it serves.
package fleet
