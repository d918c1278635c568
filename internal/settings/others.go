package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/permit"
)

// Others holds what the user's settings of other agents, Claude Code, codex and gemini-cli, choose
// here, and what in them is about safety or models and has no effect.
type Others struct {
	// Values are of [PlaceOther]. Of several for one setting, the first counts.
	Values []Value
	// Models are the models and efforts for new sessions with a provider, by its name.
	Models map[string]OtherModel
	// Vars are variables of the environment, unless it has them, and VarsFrom names their file.
	Vars     map[string]string
	VarsFrom string
	// NoFull says where it is written that the mode full cannot be chosen. It is empty if it can.
	NoFull string
	// Notes says of each member without an effect what takes its place, with the file in front.
	Notes []string
}

// OtherModel is the model and the effort that another agent's settings choose.
type OtherModel struct {
	Model, Effort string // empty for none
	From          string
}

// ReadOthers reads the user's settings of other agents. A file that cannot be read is a note.
func ReadOthers(getenv func(string) string) *Others {
	o := &Others{Models: map[string]OtherModel{}}
	home := userfiles.HomeDir(getenv)
	if !filepath.IsAbs(home) {
		home = ""
	}
	o.read(userfiles.ClaudeSettings(getenv), home, jsonMembers, (*other).claude)
	if dir := userfiles.CodexDir(getenv); dir != "" {
		o.read(filepath.Join(dir, "config.toml"), home, tomlMembers, (*other).codex)
	}
	if home != "" {
		o.read(filepath.Join(home, ".gemini", "settings.json"), home, jsonMembers, (*other).gemini)
	}
	return o
}

// other is a file of another agent's settings.
type other struct {
	*Others
	file, home string
	members    map[string]any // by their names, with dots between the levels
}

// read reads a file, if it is there.
func (o *Others) read(name, home string, parse func([]byte) (map[string]any, error), use func(*other)) {
	if name == "" {
		return
	}
	data, err := userfiles.Read(name, maxSettingsFile+1)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	f := &other{Others: o, file: name, home: home}
	if err == nil && len(data) > maxSettingsFile {
		err = fmt.Errorf("it has more than %d MiB", maxSettingsFile>>20)
	}
	if err == nil {
		f.members, err = parse(data)
	}
	if err != nil {
		o.Notes = append(o.Notes, fmt.Sprintf("%s: nothing of it counts: %v", name, err))
		return
	}
	use(f)
}

// jsonMembers returns the members of a JSON object and of those in it, by their names with dots
// between the levels.
func jsonMembers(data []byte) (map[string]any, error) {
	file, err := texts.ReadJSON(data)
	if err != nil {
		return nil, err
	}
	if file.Kind != texts.Object {
		return nil, fmt.Errorf("it must be an object, not %s", file.Is())
	}
	var root map[string]any
	if err := json.Unmarshal(file.Raw, &root); err != nil {
		return nil, err
	}
	all := map[string]any{}
	flatten(all, "", root)
	return all, nil
}

// flatten adds the members of an object to all, with a prefix before their names.
func flatten(all map[string]any, prefix string, object map[string]any) {
	for name, value := range object {
		all[prefix+name] = value
		if inner, ok := value.(map[string]any); ok {
			flatten(all, prefix+name+".", inner)
		}
	}
}

// text returns a member that is a string, or "".
func (f *other) text(member string) string {
	text, _ := f.members[member].(string)
	return text
}

// texts returns a member that is a list of strings.
func (f *other) texts(member string) (list []string) {
	items, _ := f.members[member].([]any)
	for _, item := range items {
		if text, ok := item.(string); ok {
			list = append(list, text)
		}
	}
	return list
}

// note says that a member has no effect, and why or what takes its place.
func (f *other) note(member, text string) {
	f.Notes = append(f.Notes, fmt.Sprintf("%s: %s has no effect here: %s", f.file, member, text))
}

// noteMembers notes those members of the map that the file has, with what takes their place.
func (f *other) noteMembers(instead map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(instead)) {
		if _, is := f.members[name]; is {
			f.note(name, instead[name])
		}
	}
}

// choose adds a value of a setting.
func (f *other) choose(key, member string, texts ...string) {
	v, err := New(key, texts, Origin{Place: PlaceOther, Name: f.file + ": " + member})
	if err != nil {
		f.note(member, err.Error())
		return
	}
	v.file = f.file
	f.Values = append(f.Values, v)
}

// chooseModel adds the model and the effort for a provider.
func (f *other) chooseModel(provider, member, effort string) {
	model := f.text(member)
	if model == "default" {
		model = ""
	}
	if strings.ContainsAny(model, "[]:/ ") || model == "opusplan" {
		f.note(member, "there is no such model here; the setting model chooses one")
		model = ""
	}
	if m := (OtherModel{model, f.text(effort), f.file}); m.Model != "" || m.Effort != "" {
		f.Models[provider] = m
	}
}

// chooseMode adds a mode by its name there.
func (f *other) chooseMode(member string, names map[string]permit.Mode) {
	name := f.text(member)
	mode, known := names[name]
	switch {
	case f.members[member] == nil, known && mode == permit.ModeAsk: // which is what there is anyway
	case known:
		f.choose("mode", member, string(mode))
	case permit.InPlaceOf(name) == permit.ModeFull || name == "never":
		f.note(member, `that nobody is asked is chosen here: --yes, or "mode": "full" in config.json`)
	default:
		f.note(member, "there is no such mode; the setting mode chooses one of "+strings.Join(permit.ModeNames(), ", "))
	}
}

// chooseDirs adds further directories. Relative names begin at the directory of each session, which
// is the business of rules.
func (f *other) chooseDirs(member string) {
	var dirs []string
	for _, dir := range f.texts(member) {
		if below, ok := strings.CutPrefix(dir, "~/"); ok && f.home != "" {
			dir = filepath.Join(f.home, below)
		}
		info, err := os.Stat(dir)
		switch {
		case !filepath.IsAbs(dir):
			f.note(member, dir+" is relative, so it can be read, and not changed; --add-dir adds it")
		case err != nil || !info.IsDir():
			f.note(member, dir+" is not a directory")
		default:
			dirs = append(dirs, dir)
		}
	}
	if dirs != nil {
		f.choose("add_dir", member, dirs...)
	}
}

// claude uses ~/.claude/settings.json. Rules and hooks of it are read elsewhere.
func (f *other) claude() {
	f.chooseModel("anthropic", "model", "effortLevel")
	f.chooseMode("permissions.defaultMode", map[string]permit.Mode{"default": permit.ModeAsk,
		"acceptEdits": permit.ModeAcceptEdits, "plan": permit.ModePlan})
	f.chooseDirs("permissions.additionalDirectories")
	if f.text("permissions.disableBypassPermissionsMode") == "disable" {
		f.NoFull = f.file + ": permissions.disableBypassPermissionsMode"
	}
	if f.members["sandbox.enabled"] == true {
		f.choose("sandbox", "sandbox.enabled", string(sandbox.Workspace))
		if hosts := f.texts("sandbox.network.allowedDomains"); hosts != nil {
			f.choose("allow_host", "sandbox.network.allowedDomains", hosts...)
		}
		if sockets := f.texts("sandbox.network.allowUnixSockets"); sockets != nil {
			f.note("sandbox.network.allowUnixSockets", "use the setting allow_socket")
		}
		f.noteMembers(map[string]string{
			"sandbox.autoAllowBashIfSandboxed":  "the mode decides whether commands ask, also in a sandbox",
			"sandbox.excludedCommands":          "all commands run in the sandbox",
			"sandbox.filesystem":                "the levels of attractor run --sandbox decide",
			"sandbox.network.allowLocalBinding": "the network of the sandbox is its own"})
	}
	if vars, ok := f.members["env"].(map[string]any); ok {
		f.Vars, f.VarsFrom = map[string]string{}, f.file
		for name, value := range vars {
			switch text, isText := value.(string); {
			case !isText || name == "" || strings.ContainsAny(name+text, "\x00") || strings.Contains(name, "="):
				f.note("env."+name, "it is not the text of a variable")
			default:
				f.Vars[name] = text
			}
		}
	}
	f.noteMembers(map[string]string{"apiKeyHelper": "use the setting key_command",
		"fallbackModel":                                 "use the setting fallback",
		"availableModels":                               "use the setting model",
		"disabledMcpjsonServers":                        `"disabled": true in a file of servers`,
		"permissions.disableAutoMode":                   "there is no such mode",
		"permissions.skipDangerousModePermissionPrompt": "nobody is asked for the mode full"})
}

// codex uses ~/.codex/config.toml, with the profile that it chooses.
func (f *other) codex() {
	if profile := f.text("profile"); profile != "" {
		prefix := "profiles." + profile + "."
		for name, value := range maps.Clone(f.members) {
			if below, ok := strings.CutPrefix(name, prefix); ok {
				f.members[below] = value
			}
		}
	}
	if p := f.text("model_provider"); p == "" || p == "openai" {
		f.chooseModel("openai", "model", "model_reasoning_effort")
	} else {
		f.note("model_provider", "use the settings providers and model")
	}
	f.chooseMode("approval_policy", map[string]permit.Mode{"untrusted": permit.ModeAsk, "on-failure": permit.ModeAsk,
		"on-request": permit.ModeAsk})
	switch level := f.text("sandbox_mode"); level {
	case "", "danger-full-access": // no sandbox is what there is anyway
	case "read-only":
		f.choose("sandbox", "sandbox_mode", string(sandbox.ReadOnly))
	case "workspace-write":
		f.choose("sandbox", "sandbox_mode", string(sandbox.Workspace))
		if f.members["sandbox_workspace_write.network_access"] == true {
			f.choose("network", "sandbox_workspace_write.network_access", "true")
		}
		f.noteMembers(map[string]string{"sandbox_workspace_write.writable_roots": "use the setting add_dir"})
	default:
		f.note("sandbox_mode", "there is no such level; the setting sandbox has "+strings.Join(sandbox.Levels(), ", "))
	}
	f.noteMembers(map[string]string{"mcp_servers": "servers have files of their own (attractor mcp --help)",
		"model_context_window": "use the setting context_window",
		"openai_base_url":      "use the setting base_url", "shell_environment_policy": "variables with secrets " +
			"are kept from commands",
		"permissions": "use rules (attractor rules --help)", "default_permissions": "use rules (attractor " +
			"rules --help)",
		"web_search": "use the setting web_search"})
}

// gemini uses ~/.gemini/settings.json.
func (f *other) gemini() {
	model := "model.name"
	if f.text("model") != "" { // as it was in earlier versions
		model = "model"
	}
	f.chooseModel("gemini", model, "")
	f.chooseMode("general.defaultApprovalMode",
		map[string]permit.Mode{"default": permit.ModeAsk, "auto_edit": permit.ModeAcceptEdits, "plan": permit.ModePlan})
	for _, member := range []string{"tools.sandbox", "sandbox"} {
		switch value := f.members[member].(type) {
		case bool:
			if value {
				f.choose("sandbox", member, string(sandbox.Workspace))
			}
		case string:
			f.note(member, "containers are reached by --env-command, and the setting sandbox has levels")
		}
	}
	if f.members["security.disableYoloMode"] == true && f.NoFull == "" {
		f.NoFull = f.file + ": security.disableYoloMode"
	}
	f.chooseDirs("context.includeDirectories")
	f.noteMembers(map[string]string{"tools.allowed": "use rules (attractor rules --help)",
		"tools.core":    "use rules (attractor rules --help)",
		"tools.exclude": "use rules (attractor rules --help)", "security.disableAlwaysAllow": "rules that allow " +
			"can be kept",
		"security.folderTrust.enabled": "attractor trust decides about each project",
		"mcpServers":                   "servers have files of their own (attractor mcp --help)"})
}
