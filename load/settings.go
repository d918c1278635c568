package load

import (
	"path/filepath"

	"github.com/attractor-go/attractor/internal/settings"
)

// SettingsFile returns the file of the project's settings, whether or not it exists.
func (p *Project) SettingsFile() settings.ProjectFile {
	file := settings.ProjectFile{Name: filepath.Join(p.Root, filepath.FromSlash(settings.OfProject))}
	if f := p.File(settings.OfProject); f != nil && (f.Link == "" || f.Data != nil) {
		file.Data = append([]byte{}, f.Data...)
	}
	if !p.Trusted {
		file.Unused = p.Because()
	}
	return file
}

// SettingsState says whether the project's settings count, for a person.
func (p *Project) SettingsState() string {
	switch {
	case p.File(settings.OfProject) == nil && p.Err(settings.OfProject) == nil:
		return "not there"
	case p.Trusted:
		return "used"
	}
	return "not used, because " + p.Because()
}
