// Package ext reads what teams write for their agents: Markdown files with YAML front matter. It returns values, and the mistakes in the
// files. Hosts find the files, decide whom to trust, and put the values into the doors of a session.
//
// A mistake costs no more than the field or the file that it is in. Each says where it is and what is supported.
package ext
