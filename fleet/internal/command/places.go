package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/attractor-go/attractor/fleet/internal/secretref"
	"github.com/attractor-go/attractor/fleet/workspace"
)

// placesHelp describes the files of placeFlags.
const placesHelp = `Environments and credentials are JSON files that give names their meanings. In the words of commands, {name} is a name that no other task has:

  {"local":{"sandbox":"workspace"},
   "box":{"create":["docker","run","--rm","-d","--name","{name}","golang","sleep","infinity"],
          "command":["docker","exec","-i","{name}"],"destroy":["docker","rm","-f","{name}"]}}

  {"github":{"url":"https://github.com/acme/","token":"env:GITHUB_TOKEN"},"git":{"url":"ssh://git@example.com/","key_file":"/etc/keys/git"}}`

// placeFlags holds the flags that say where tasks can work, and what their repositories need.
type placeFlags struct{ environments, credentials string }

// register adds the flags.
func (f *placeFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.environments, "environments", "",
		"read what the names of environments mean from this JSON `file`")
	flags.StringVar(&f.credentials, "credentials", "",
		"read what the names of credentials mean from this JSON `file`; env:NAME and file:PATH are tokens that are "+
			"elsewhere")
}

// read reads the files.
func (f *placeFlags) read(o *workspace.Options) error {
	if err := readNamed(f.environments, &o.Environments); err != nil {
		return fmt.Errorf("--environments: %w", err)
	}
	if err := readNamed(f.credentials, &o.Credentials); err != nil {
		return fmt.Errorf("--credentials: %w", err)
	}
	for name, c := range o.Credentials {
		var err error
		if c.Token, err = secretref.Resolve(c.Token); err != nil {
			return fmt.Errorf("--credentials: %s: token: %w", name, err)
		}
		o.Credentials[name] = c
	}
	return nil
}

// readNamed reads a JSON file, strictly. Without a name it reads nothing.
func readNamed(name string, into any) error {
	if name == "" {
		return nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
