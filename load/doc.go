// Package load reads what files of the user and of a project bring to a session: rules, hooks, MCP
// servers, skills, commands, agents and settings.
//
// The project's start and allow something only if the user has trusted them: [OpenProject] reads them
// once, with the user's decision, and the other functions use the bytes that it has read.
package load
