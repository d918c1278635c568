package cli

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// list is a flag that can be repeated. Those of pflag write their default as CSV when they are registered, which for the
// flags of all commands took a twentieth of the memory of a start.
type list struct {
	values *[]string
	given  bool // the first value replaces the default
}

// listVar adds a flag that can be repeated.
func listVar(flags *pflag.FlagSet, values *[]string, name, usage string) {
	flags.Var(&list{values: values}, name, usage)
}

// Set implements [pflag.Value].
func (l *list) Set(value string) error {
	if !l.given {
		*l.values, l.given = nil, true
	}
	return l.Append(value)
}

// String implements [pflag.Value].
func (l *list) String() string {
	if l.values == nil {
		return ""
	}
	return strings.Join(*l.values, ",")
}

// Type implements [pflag.Value].
func (*list) Type() string { return "stringArray" } // cobra completes flags with Array in it again

// Append implements [pflag.SliceValue].
func (l *list) Append(value string) error {
	*l.values = append(*l.values, value)
	return nil
}

// Replace implements [pflag.SliceValue].
func (l *list) Replace(values []string) error {
	*l.values = slices.Clone(values)
	return nil
}

// GetSlice implements [pflag.SliceValue].
func (l *list) GetSlice() []string { return slices.Clone(*l.values) }
