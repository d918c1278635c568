package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/patch"
	"github.com/attractor-go/attractor/rules"
)

// maxViews limits the files of one call that hooks are asked about.
const maxViews = 100

// view holds a call, or its part about one file, in the form that Claude Code's hooks get.
type view struct {
	Name  string
	Input map[string]any
	names []string // by which matchers find it
	// back returns the arguments that a hook wants. Nil means that they cannot be changed.
	back func(shown, updated map[string]any) (args string, err error)
}

// viewsOf returns the views of a call: one, or one for each of its files. Relative paths are taken
// from dir.
func viewsOf(call llm.ToolCall, dir string) ([]view, error) {
	args := map[string]any{}
	if err := decode([]byte(call.Args), &args); err != nil || args == nil {
		args = map[string]any{"input": call.Args} // of a tool with raw input
	}
	var all []view
	switch call.Name {
	case "apply_patch":
		text, ok := args["patch"].(string)
		if !ok {
			text = call.Args
		}
		all = patchViews(text, dir)
	case "read_many_files":
		all = readViews(args, dir)
	}
	if len(all) > maxViews {
		return nil, fmt.Errorf("there are hooks for such calls, which look at %d files at most: divide the call",
			maxViews)
	}
	if all == nil {
		all = []view{plainView(call.Name, args, dir)}
	}
	for i := range all {
		all[i].names = aliases(all[i].Name, call.Name)
	}
	return all, nil
}

// aliases returns the names by which matchers find a tool.
func aliases(claude, own string) []string {
	all := []string{claude, own}
	if claude == "Agent" {
		all = append(all, "Task")
	}
	return slices.Compact(all)
}

// decode reads JSON and keeps numbers as they are written.
func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(into)
}

// patchViews returns the operations of a patch as calls of Write and Edit, or nil if it is no
// patch.
func patchViews(text, dir string) (all []view) {
	ops, err := patch.Parse(text)
	if err != nil {
		return nil
	}
	for i := range ops {
		op := &ops[i]
		v := view{Name: "Edit", Input: map[string]any{"file_path": absolute(op.Path, dir)}}
		switch op.Kind {
		case patch.Add:
			v.Name, v.Input["content"] = "Write", op.Content
		case patch.Delete:
			v.Input["old_string"], v.Input["new_string"], v.Input["deleted"] = "", "", true
		default:
			var old, updated string
			for _, h := range op.Hunks {
				before, after := h.Texts()
				old += before
				updated += after
			}
			v.Input["old_string"], v.Input["new_string"] = old, updated
			if op.MoveTo != "" {
				to := absolute(op.MoveTo, dir)
				v.Input["moved_to"] = to
				all = append(all, view{Name: "Write", Input: map[string]any{"file_path": to,
					"content": v.Input["new_string"], "moved_from": v.Input["file_path"]}})
			}
		}
		all = append(all, v)
	}
	return all
}

// readViews returns the paths of read_many_files as calls of Read.
func readViews(args map[string]any, dir string) (all []view) {
	paths, _ := args["paths"].([]any)
	for _, p := range paths {
		if name, ok := p.(string); ok {
			all = append(all, view{Name: "Read", Input: map[string]any{"file_path": absolute(name, dir)}})
		}
	}
	return all
}

func absolute(name, dir string) string {
	if name == "" || dir == "" || path.IsAbs(name) || len(name) > 1 && name[1] == ':' {
		return name
	}
	return path.Join(dir, name)
}

// renamed returns the parameters of a tool that Claude Code calls by other names.
func renamed(tool string) map[string]string {
	return map[string]map[string]string{
		"shell":             {"timeout_ms": "timeout"},
		"run_shell_command": {"is_background": "run_in_background"},
		"exec_command":      {"cmd": "command"},
		"write_stdin":       {"chars": "command"},
		"process":           {"input": "command"},
		"view_image":        {"path": "file_path"},
		"read_file":         {"start_line": "offset"},
		"replace":           {"allow_multiple": "replace_all"},
		"grep": {"glob_filter": "glob", "case_insensitive": "-i", "max_results": "head_limit",
			"context": "-C"},
		"grep_search": {"dir_path": "path", "include_pattern": "glob", "total_max_matches": "head_limit",
			"context": "-C", "after": "-A", "before": "-B"},
		"glob":           {"dir_path": "path"},
		"list_directory": {"dir_path": "path"},
		"spawn_agent":    {"task": "prompt", "agent": "subagent_type"},
		"invoke_agent":   {"agent_name": "subagent_type"},
		"update_plan":    {"plan": "todos"},
	}[tool]
}

// plainView returns a call with other names for its parameters, and absolute paths.
func plainView(tool string, args map[string]any, dir string) view {
	v := view{Name: rules.ClaudeName(tool), Input: map[string]any{}}
	if tool == "process" && args["action"] != "write" {
		v.Name = "TaskOutput"
		if args["action"] == "kill" {
			v.Name = "TaskStop"
		}
	}
	to := renamed(tool)
	own := map[string]string{}
	for name, value := range args {
		claude := name
		if other := to[name]; other != "" {
			claude = other
		}
		own[claude] = name
		if text, ok := value.(string); ok && (claude == "file_path" || claude == "path") &&
			!strings.HasPrefix(tool, "mcp__") {
			value = absolute(text, dir)
		}
		v.Input[claude] = value
	}
	if v.Name == "TodoWrite" {
		v.Input["todos"] = todos(args)
	}
	if _, named := v.Input["prompt"]; v.Name == "Agent" && named && v.Input["subagent_type"] == nil {
		v.Input["subagent_type"] = generalAgent
	}
	for name, claude := range to { // parameters that the call lacks and a hook may add
		if own[claude] == "" {
			own[claude] = name
		}
	}
	v.back = func(shown, updated map[string]any) (string, error) { return backTo(args, shown, updated, own) }
	return v
}

// generalAgent is Claude Code's name of an agent without a definition.
const generalAgent = "general-purpose"

// todos returns a todo list in Claude Code's form.
func todos(args map[string]any) []any {
	list, ok := args["plan"].([]any)
	if !ok {
		list, _ = args["todos"].([]any)
	}
	all := []any{}
	for _, item := range list {
		entry, _ := item.(map[string]any)
		one := map[string]any{"content": entry["step"], "status": entry["status"], "activeForm": entry["active_form"]}
		if entry["step"] == nil {
			one = entry
		}
		all = append(all, one)
	}
	return all
}

// backTo returns the arguments of a call with what a hook has changed. Parameters that it does not
// mention stay, and so do those that it repeats as they were shown.
func backTo(args, shown, updated map[string]any, own map[string]string) (string, error) {
	result := maps.Clone(args)
	for claude, value := range updated {
		if was, ok := shown[claude]; ok && reflect.DeepEqual(was, value) {
			continue
		}
		name := own[claude]
		switch {
		case claude == "todos":
			return "", errors.New("a todo list cannot be changed by a hook")
		case name == "":
			name = claude
		}
		result[name] = value
	}
	data, err := texts.PlainJSON(result)
	return string(data), err
}
