package permit

import (
	"fmt"
	"slices"
	"strings"
)

// Mode says what becomes of the tool calls that the rules ask about. A rule that denies counts in
// all modes.
type Mode string

// The modes. Hooks and rules that ask count in all modes but ModeFull.
const (
	ModeAsk Mode = "ask" // a person decides
	// ModeAcceptEdits allows what file tools change in the session's directories, if no rule and no
	// hook asks about it, the file is an ordinary one and nothing may run it that no call starts;
	// see [env.Exposed]. A person decides about the rest.
	ModeAcceptEdits Mode = "accept-edits"
	// ModePlan refuses what changes or runs something. Commands that only read run. The model
	// leaves the mode by the tool exit_plan_mode, if a person approves of its plan.
	ModePlan Mode = "plan"
	ModeFull Mode = "full" // they are allowed
	// ModeReadOnly refuses them, and every call that changes or runs something, commands included.
	ModeReadOnly Mode = "read-only"
)

// Modes returns the modes between which a session can change.
func Modes() []Mode { return []Mode{ModeAsk, ModeAcceptEdits, ModePlan, ModeFull} }

// ModeNames returns the names of Modes.
func ModeNames() []string { return namesOf(Modes()) }

func namesOf(modes []Mode) (names []string) {
	for _, m := range modes {
		names = append(names, string(m))
	}
	return names
}

// ParseMode returns the mode of [Modes] with a name.
func ParseMode(name string) (Mode, error) { return parseMode(name, Modes()) }

// ParseFirstMode returns the mode with a name in which a session can begin: one of [Modes], or
// read-only.
func ParseFirstMode(name string) (Mode, error) {
	return parseMode(name, append([]Mode{ModeReadOnly}, Modes()...))
}

func parseMode(name string, modes []Mode) (Mode, error) {
	if slices.Contains(modes, Mode(name)) {
		return Mode(name), nil
	}
	if here := InPlaceOf(name); here != "" {
		return "", fmt.Errorf("there is no mode %q; here it is %s (docs/coming-from)", name, here)
	}
	return "", fmt.Errorf("there is no mode %q; the modes are %s", name, strings.Join(namesOf(modes), ", "))
}

// InPlaceOf returns what takes the place of a mode of Claude Code's that does not exist here. It is
// empty for any other name.
func InPlaceOf(name string) Mode {
	return map[string]Mode{"default": ModeAsk, "acceptEdits": ModeAcceptEdits, "bypassPermissions": ModeFull}[name]
}

// asks reports whether a person is asked about calls in the mode.
func (m Mode) asks() bool { return m != ModeFull && m != ModeReadOnly }
