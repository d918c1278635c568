// Package conversation has what an agent does with messages and their parts, whoever sends them:
// checks that any vendor takes them, their sizes, their texts, how a part is told that a vendor has
// rejected, and whether an answer is finished. It knows no session.
package conversation
