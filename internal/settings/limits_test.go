package settings_test

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/settings"
)

func TestL6_LimitsAreParsed(t *testing.T) {
	for text, want := range map[string]env.Limits{
		"processes=500":                  {Processes: 500},
		"memory=2g,file-size=10M":        {Memory: 2 << 30, FileSize: 10 << 20},
		"memory=3GiB, open-files=64":     {Memory: 3 << 30, OpenFiles: 64},
		"memory=512mb":                   {Memory: 512 << 20},
		"memory=1000":                    {Memory: 1000},
		"processes=none,memory=none":     {Processes: -1, Memory: -1},
		"processes=1,processes=2":        {Processes: 2},
		"file-size=1t":                   {FileSize: 1 << 40},
		"open-files=NONE,file-size= 4k ": {OpenFiles: -1, FileSize: 4 << 10},
		"memory=9223372036854775807":     {Memory: 1<<63 - 1},
		"processes=4096,memory=8388607t": {Processes: 4096, Memory: 8388607 << 40},
	} {
		var got env.Limits
		if err := settings.ParseLimits(&got, text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":                            "write name=value",
		"500":                         "write name=value",
		"memory=2g,":                  "write name=value",
		"threads=5":                   "there are processes, memory, file-size and open-files",
		"processes=0":                 "a number from 1 on",
		"processes=-1":                "a number from 1 on",
		"processes=2g":                "a number from 1 on",
		"memory=":                     "a size, such as 512m",
		"memory=g":                    "a size, such as 512m",
		"memory=1.5g":                 "a size, such as 512m",
		"memory=8388608t":             "a size, such as 512m",
		"memory=99999999999999999999": "a size, such as 512m",
	} {
		if err := settings.ParseLimits(new(env.Limits), text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
