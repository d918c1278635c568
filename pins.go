package attractor

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/attractor-go/attractor/internal/atomicfile"
	"github.com/attractor-go/attractor/mcp"
)

// pins keeps what servers say about their tools, with hashes of it, in a file for each server. A
// server of a project is another one than the user's with the same name, or one of another project.
type pins struct {
	dir  string
	keys map[string]string // by the name of a server
}

func newPins(dir, root string, servers []mcp.Server) *pins {
	p := &pins{dir, map[string]string{}}
	for i := range servers {
		s := &servers[i]
		p.keys[s.Name] = "user\n" + s.Name
		if s.Origin == mcp.Project {
			p.keys[s.Name] = "project\n" + root + "\n" + s.Name
		}
	}
	return p
}

// pinned is the content of a file.
type pinned struct {
	Server string            `json:"server"`
	Tools  map[string]string `json:"tools"` // hashes by the names of tools, and more
}

// file returns the name of the file of a server.
func (p *pins) file(server string) string {
	sum := sha256.Sum256([]byte(p.keys[server]))
	return filepath.Join(p.dir, hex.EncodeToString(sum[:16])+".json")
}

// Load implements mcp.PinStore.
func (p *pins) Load(server string) (map[string]string, error) {
	name := p.file(server)
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var known pinned
	if err := json.Unmarshal(data, &known); err != nil {
		return nil, fmt.Errorf("%s: %w; remove the file", name, err)
	}
	return known.Tools, nil
}

// Save implements mcp.PinStore. It replaces the file as a whole.
func (p *pins) Save(server string, hashes map[string]string) error {
	data, err := json.Marshal(pinned{server, hashes})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	return atomicfile.Write(p.file(server), data)
}
