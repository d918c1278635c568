// Package netguard decides which hosts and addresses of a network may be reached on behalf of a
// model: public ones, and those that a user has named. A name says little about where it leads, so
// a [Guard] also checks the address of each connection, as the last step before it is made.
package netguard
