package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// npmScope has the packages of npm: attractor, which starts the program, and one with the programs
// for each platform, of which npm installs the one that fits.
const npmScope = "@attractor-go"

//go:embed files/attractor.js
var npmLauncher []byte

//go:embed files/npm.md
var npmReadme []byte

// manifest is a package.json.
type manifest struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Description  string            `json:"description"`
	License      string            `json:"license"`
	Repository   string            `json:"repository"`
	Engines      map[string]string `json:"engines,omitempty"`
	Bin          map[string]string `json:"bin,omitempty"`
	OS           []string          `json:"os,omitempty"`
	CPU          []string          `json:"cpu,omitempty"`
	Optional     map[string]string `json:"optionalDependencies,omitempty"`
	Preferred    bool              `json:"preferUnplugged,omitempty"` // programs cannot be run inside of an archive
	Distribution map[string]string `json:"publishConfig"`
}

// npmPackages writes the directories of the packages below dir, each to be published by npm
// publish.
func npmPackages(dir string, list []archive) error {
	platforms := map[string]string{}
	var license []byte
	for _, a := range list {
		m := newManifest("attractor-"+nodeOS(a.os)+"-"+nodeCPU(a.arch), a.version)
		m.Description = "The programs of attractor for " + a.os + "/" + a.arch
		m.OS, m.CPU, m.Preferred = []string{nodeOS(a.os)}, []string{nodeCPU(a.arch)}, true
		files := map[string][]byte{}
		if err := a.read(func(name string, content []byte) {
			if name = place(name); name != "" {
				files[name] = content
			}
		}); err != nil {
			return err
		}
		license = files["LICENSE"]
		if err := npmPackage(dir, m, files); err != nil {
			return err
		}
		platforms[m.Name] = m.Version
	}
	m := newManifest("attractor", list[0].version)
	m.Description = "Run coding agents that a program or a person controls at every step"
	m.Engines, m.Bin, m.Optional = map[string]string{"node": ">=18"}, map[string]string{"attractor": "attractor.js"},
		platforms
	return npmPackage(dir, m, map[string][]byte{"attractor.js": npmLauncher, "README.md": npmReadme,
		"LICENSE": license})
}

// place returns where a file of an archive is in the package of its platform, or "" for none.
func place(name string) string {
	switch strings.TrimSuffix(name, ".exe") {
	case "attractor", "attractor-env", "attractor-remote":
		return "bin/" + name
	case "LICENSE", "licenses.txt":
		return name
	}
	return ""
}

func newManifest(name, version string) manifest {
	return manifest{Name: npmScope + "/" + name, Version: version, License: "Apache-2.0",
		Repository: "github:attractor-go/attractor", Distribution: map[string]string{"access": "public"}}
}

// npmPackage writes the directory of a package.
func npmPackage(dir string, m manifest, files map[string][]byte) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	files["package.json"] = append(text, '\n')
	for _, name := range slices.Sorted(maps.Keys(files)) {
		mode := os.FileMode(0o644)
		if filepath.Dir(name) == "bin" || filepath.Ext(name) == ".js" {
			mode = 0o755
		}
		path := filepath.Join(dir, filepath.Base(m.Name), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, files[name], mode); err != nil {
			return err
		}
	}
	return nil
}

// nodeOS returns what process.platform of Node is for a system of Go.
func nodeOS(goos string) string {
	if goos == "windows" {
		return "win32"
	}
	return goos
}

// nodeCPU returns what process.arch of Node is for an architecture of Go.
func nodeCPU(goarch string) string {
	if goarch == "amd64" {
		return "x64"
	}
	return goarch
}

// npmPublishing returns the commands that publish the packages: those of the platforms first,
// because the other one needs them. A candidate does not become what npm installs by default.
func npmPublishing(dir string, list []archive) string {
	var b strings.Builder
	publish := "  npm publish"
	if strings.Contains(list[0].version, "-") {
		publish += " --tag next"
	}
	for _, a := range list {
		fmt.Fprintf(&b, "%s %s\n", publish, filepath.Join(dir, "attractor-"+nodeOS(a.os)+"-"+nodeCPU(a.arch)))
	}
	fmt.Fprintf(&b, "%s %s\n", publish, filepath.Join(dir, "attractor"))
	return b.String()
}
