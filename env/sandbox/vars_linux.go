package sandbox

import (
	"slices"
	"strings"
)

// dropped lists the variables that lead out of the sandbox, to sockets and directories that it does
// not have.
var dropped = []string{"SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "GIT_ASKPASS", "GPG_AGENT_INFO", "GPG_TTY",
	"DOCKER_HOST", "DOCKER_CONTEXT",
	"CONTAINER_HOST", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY",
	"WAYLAND_SOCKET", "XAUTHORITY",
	"ICEAUTHORITY", "SESSION_MANAGER", "TMUX", "TMUX_PANE", "STY", "KITTY_LISTEN_ON", "NVIM", "NVIM_LISTEN_ADDRESS",
	"VSCODE_IPC_HOOK",
	"VSCODE_IPC_HOOK_CLI", "VSCODE_GIT_IPC_HANDLE", "VSCODE_GIT_ASKPASS_MAIN", "VSCODE_GIT_ASKPASS_NODE",
	"GNOME_KEYRING_CONTROL", "KEYRING",
	"NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "PULSE_SERVER", "PIPEWIRE_RUNTIME_DIR",
	"PIPEWIRE_REMOTE",
	"XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "TMP", "TEMP", "TMPDIR",
	"GOTMPDIR", "GOCACHE", "GOMODCACHE"}

// vars returns the environment of commands in the sandbox: without the dropped variables, except
// those that name an allowed socket, and with the sandbox's own ones.
func vars(environ, sockets, own []string) []string {
	kept := make([]string, 0, len(environ)+len(own))
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		leadsOut := slices.Contains(dropped, strings.ToUpper(name))
		allowed := slices.ContainsFunc(sockets, func(socket string) bool { return strings.Contains(value, socket) })
		if !leadsOut || allowed {
			kept = append(kept, entry)
		}
	}
	return append(kept, own...)
}
