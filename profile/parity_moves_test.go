package profile_test

import (
	"encoding/json"
	"fmt"

	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/profile/anthropic"
	"github.com/attractor-go/attractor/profile/gemini"
	"github.com/attractor-go/attractor/profile/openai"
)

type object = map[string]any

// moves holds the calls by which a model of a dialect gets something done.
type moves struct {
	profile profile.Profile
	create  func(path, content string) fakellm.Call
	read    func(path string) fakellm.Call
	edit    func(path, before, after string) fakellm.Call // replaces one line
	twice   func(path, before, after string) fakellm.Call // replaces both lines of a file of two
	run     func(command string) fakellm.Call
	// slow runs a command and waits for at most one second. The model then reads stopped. running
	// says that the command goes on.
	slow    func(command string) fakellm.Call
	stopped string
	running bool
	search  func(text string) fakellm.Call
	list    func(extension string) fakellm.Call
	spawn   func(task string) fakellm.Call
	wait    func(id string) fakellm.Call // nil if spawn waits itself
	// declared is the declaration of the editing tool in the first request.
	declared string
}

func say(name string, args object) fakellm.Call {
	data, err := json.Marshal(args)
	if err != nil {
		panic(err) // only strings, numbers and booleans get here
	}
	return fakellm.Call{Name: name, Args: data}
}

func update(path, before, after string) string {
	return fmt.Sprintf("*** Begin Patch\n*** Update File: %s\n@@\n-%s\n+%s\n*** End Patch\n", path, before, after)
}

func updateTwice(path, before, after string) string {
	return fmt.Sprintf("*** Begin Patch\n*** Update File: %s\n@@\n-%s\n-%[2]s\n+%s\n+%[3]s\n*** End Patch\n", path,
		before, after)
}

// dialects returns the moves of all dialects, in the order of all.
func dialects() []moves {
	own := ownMoves()
	anthropicOwn, openaiOwn, geminiOwn := own, own, own
	anthropicOwn.profile, openaiOwn.profile, geminiOwn.profile = anthropic.Profile(), openai.Profile(), gemini.Profile()
	openaiOwn.declared = `"name":"apply_patch"`
	openaiOwn.edit = func(path, before, after string) fakellm.Call {
		return say("apply_patch", object{"patch": update(path, before, after)})
	}
	openaiOwn.twice = func(path, before, after string) fakellm.Call {
		return say("apply_patch", object{"patch": updateTwice(path, before, after)})
	}
	return []moves{anthropicOwn, anthropicNative(), openaiOwn, openaiNative(own), geminiOwn, geminiNative(own)}
}

// ownMoves returns the moves with those of this project's own tools that all profiles have.
func ownMoves() moves {
	return moves{
		create: func(path, content string) fakellm.Call {
			return say("write_file", object{"file_path": path, "content": content})
		},
		read: func(path string) fakellm.Call { return say("read_file", object{"file_path": path}) },
		edit: func(path, before, after string) fakellm.Call {
			return say("edit_file", object{"file_path": path, "old_string": before, "new_string": after})
		},
		twice: func(path, before, after string) fakellm.Call {
			return say("edit_file", object{"file_path": path, "old_string": before, "new_string": after,
				"replace_all": true})
		},
		run: func(command string) fakellm.Call { return say("shell", object{"command": command}) },
		slow: func(command string) fakellm.Call {
			return say("shell", object{"command": command, "timeout_ms": 1000})
		},
		stopped:  "Command timed out after 1000ms",
		search:   func(text string) fakellm.Call { return say("grep", object{"pattern": text}) },
		list:     func(extension string) fakellm.Call { return say("glob", object{"pattern": "**/*." + extension}) },
		spawn:    func(task string) fakellm.Call { return say("spawn_agent", object{"task": task}) },
		wait:     func(id string) fakellm.Call { return say("wait", object{"agent_id": id}) },
		declared: `"name":"edit_file"`,
	}
}

// anthropicNative returns the moves of Claude Code's dialect. It has no tools for searching: its
// models use commands.
func anthropicNative() moves {
	bash := func(command string) fakellm.Call { return say("Bash", object{"command": command}) }
	return moves{
		profile: anthropic.Native(),
		create: func(path, content string) fakellm.Call {
			return say("Write", object{"file_path": path, "content": content})
		},
		read: func(path string) fakellm.Call { return say("Read", object{"file_path": path}) },
		edit: func(path, before, after string) fakellm.Call {
			return say("Edit", object{"file_path": path, "old_string": before, "new_string": after})
		},
		twice: func(path, before, after string) fakellm.Call {
			return say("Edit", object{"file_path": path, "old_string": before, "new_string": after,
				"replace_all": true})
		},
		run:     bash,
		slow:    func(command string) fakellm.Call { return say("Bash", object{"command": command, "timeout": 1000}) },
		stopped: "Command timed out after 1000ms",
		search:  func(text string) fakellm.Call { return bash("grep -rn " + text + " .") },
		list:    func(extension string) fakellm.Call { return bash("find . -name '*." + extension + "'") },
		spawn: func(task string) fakellm.Call {
			return say("Agent", object{"description": "A part", "prompt": task})
		},
		declared: `"name":"Edit"`,
	}
}

// openaiNative returns the moves of codex's dialect: commands and patches. A command has no
// timeout. After yield_time_ms it goes on in the background.
func openaiNative(own moves) moves {
	exec := func(command string) fakellm.Call { return say("exec_command", object{"cmd": command}) }
	m := own
	m.profile = openai.Native()
	m.create = func(path, content string) fakellm.Call {
		patch := "*** Begin Patch\n*** Add File: " + path + "\n"
		for _, line := range lines(content) {
			patch += "+" + line + "\n"
		}
		return fakellm.Call{Name: "apply_patch", Raw: patch + "*** End Patch\n"}
	}
	m.read = func(path string) fakellm.Call { return exec("cat " + path) }
	m.edit = func(path, before, after string) fakellm.Call {
		return fakellm.Call{Name: "apply_patch", Raw: update(path, before, after)}
	}
	m.twice = func(path, before, after string) fakellm.Call {
		return fakellm.Call{Name: "apply_patch", Raw: updateTwice(path, before, after)}
	}
	m.run = exec
	m.slow = func(command string) fakellm.Call {
		return say("exec_command", object{"cmd": command, "yield_time_ms": 1000})
	}
	m.stopped, m.running = "Process running with session ID", true
	m.search = func(text string) fakellm.Call { return exec("grep -rn " + text + " .") }
	m.list = func(extension string) fakellm.Call { return exec("find . -name '*." + extension + "'") }
	m.declared = `"type":"custom","name":"apply_patch"`
	return m
}

// geminiNative returns the moves of gemini-cli's dialect. A command has a fixed timeout of minutes.
// For a shorter wait the model starts it in the background with delay_ms.
func geminiNative(own moves) moves {
	m := own
	m.profile = gemini.Native()
	replace := func(path, before, after string, many bool) fakellm.Call {
		return say("replace", object{"file_path": path, "instruction": "Change it.", "old_string": before,
			"new_string": after, "allow_multiple": many})
	}
	m.edit = func(path, before, after string) fakellm.Call { return replace(path, before, after, false) }
	m.twice = func(path, before, after string) fakellm.Call { return replace(path, before, after, true) }
	m.run = func(command string) fakellm.Call { return say("run_shell_command", object{"command": command}) }
	m.slow = func(command string) fakellm.Call {
		return say("run_shell_command", object{"command": command, "is_background": true, "delay_ms": 1000})
	}
	m.stopped, m.running = "PID", true
	m.search = func(text string) fakellm.Call { return say("grep_search", object{"pattern": text}) }
	m.spawn = func(task string) fakellm.Call {
		return say("invoke_agent", object{"agent_name": "generalist", "prompt": task})
	}
	m.wait = nil
	m.declared = `"name":"replace"`
	return m
}
