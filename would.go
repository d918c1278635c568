package attractor

import (
	"cmp"
	"errors"
	"path/filepath"

	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/permit"
)

// Would says what a session would use.
type Would struct {
	Provider, Model, Profile string
	Effort                   string // empty for the provider's
	Native                   bool   // the dialect of the tools
	Mode                     permit.Mode
	Sandbox                  sandbox.Level
}

// Would returns what a new session with the configuration would use. It starts nothing and makes no
// request. What the error is about is empty, and the rest is there.
func (c *Config) Would() (Would, error) {
	w, err := c.wiring()
	if err != nil {
		return Would{}, err
	}
	s := &Setup{}
	dir, err := filepath.Abs(cmp.Or(w.Dir, "."))
	if err == nil {
		s.Project, err = w.project(dir)
	}
	if err != nil {
		return Would{}, err
	}
	s.useSettings(w)
	w.useDefaults()
	err = s.chooseMode(w, nil)
	would := Would{Mode: w.Mode, Sandbox: cmp.Or(w.Sandbox.Level, sandbox.Off), Effort: value(w.chosen.effort),
		Native: value(w.chosen.native)}
	provider, noProvider := w.chooseProvider()
	if noProvider == nil {
		_, provider, noProvider = w.connect()
	}
	if noProvider != nil {
		return would, errors.Join(err, noProvider)
	}
	w.useOthersModel(provider)
	p, noProfile := w.chooseProfile(provider)
	would.Provider, would.Profile, would.Effort = provider, p.Name, value(w.chosen.effort)
	would.Model = cmp.Or(newestOf(provider, value(w.chosen.model)), p.Model)
	return would, errors.Join(err, noProfile)
}
