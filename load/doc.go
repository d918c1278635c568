// Package load reads what files of the user and of a project bring to a session: rules, hooks, MCP
// servers, skills, commands, agents and settings.
//
// What a project brings starts and allows something only if its user has trusted it: [ReadProject]
// reads the files once, with the user's decision, and the other functions use the bytes that it has
// read. They read and check, and start nothing; the root package wires what they return into
// sessions.
package load
