// Package stepstream turns the events of a session into those of a plain loop, which does one thing
// after the other, for hosts that show or store steps: thoughts, texts, tool calls with their
// results, and the final text. Start with [Events]. It adds nothing to the events of package agent,
// and leaves out what has no place in such a loop, such as live output and the events of subagents.
package stepstream
