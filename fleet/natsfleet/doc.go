// Package natsfleet keeps a fleet on NATS JetStream: on a server in this process ([OpenEmbedded]),
// on one that this package runs ([StartServer]), or on a cluster of them. Workers connect with
// [Open], the clients of one tenant with [OpenTenant].
//
// Each tenant has an account of its own on the servers. Its clients reach it through a gateway
// only, which every server runs. README.md beside this file describes the configuration, the
// accounts and what happens when something fails.
//
// The package keeps tasks, journals and objects, and runs nothing: tasks are run by a
// [fleet.Worker], in other processes or in this one. NATS is linked into the program, so no
// separate server is needed.
package natsfleet
