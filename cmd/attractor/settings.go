package main

import (
	"os"
	"slices"

	"github.com/spf13/pflag"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/host"
)

// readSettings gives the flags that are not on the command line the values that the user's file and variables of the environment choose.
// Every command that runs sessions calls it before it checks the flags. Resumes says that the session is an earlier one or a fork.
func (f *sessionFlags) readSettings(flags *pflag.FlagSet, resumes bool) error {
	values, err := host.UserSettings(os.Getenv)
	if err != nil {
		return hostError(err)
	}
	given := f.limits.Limits
	f.settings = host.ChooseSettings(append(givenValues(flags), values...), resumes)
	f.limits.Limits = env.Limits{}
	for _, s := range host.AllSettings() {
		values := f.settings.Counting(s.Key)
		if s.Key == "limit" { // the last one that sets a limit counts
			slices.Reverse(values)
		}
		for _, v := range values {
			if v.Origin.Place == host.PlaceFlag {
				continue
			}
			for _, text := range v.Text {
				if err := flags.Lookup(s.Flag()).Value.Set(text); err != nil { // not flags.Set: nobody has given the flag
					return fail(exitUsage, "%s: %w", v.Origin, err)
				}
			}
		}
	}
	f.limits.add(given)
	return nil
}

// givenValues returns the settings that flags on the command line choose.
func givenValues(flags *pflag.FlagSet) (values []host.Value) {
	for _, s := range host.AllSettings() {
		flag := flags.Lookup(s.Flag())
		if !flag.Changed {
			continue
		}
		text := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			text = list.GetSlice()
		}
		values = append(values, host.Value{Key: s.Key, Text: text, Origin: host.Origin{Place: host.PlaceFlag, Name: "--" + s.Flag()}})
	}
	for flag, mode := range map[string]host.Mode{"yes": host.ModeFull, "ask": host.ModeAsk, "read-only": host.ModeReadOnly} {
		if flags.Lookup(flag).Value.String() == "true" {
			values = append(values, host.Value{Key: "mode", Text: []string{string(mode)}, Origin: host.Origin{Place: host.PlaceFlag, Name: "--" + flag}})
		}
	}
	return values
}
