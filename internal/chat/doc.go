// Package chat is a conversation with an agent on a terminal, line by line. What is finished
// scrolls by and stays in the terminal's history; below it are a line that says what runs, and the
// input. On a terminal that cannot move its cursor, and for screen readers, there are only lines.
//
// One goroutine, that of [Run], owns everything. Others hand it functions: the events of the
// session, the questions, and the ends of what runs.
package chat
