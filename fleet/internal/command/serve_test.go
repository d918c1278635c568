package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Machines of a cluster share a configuration without what is a single server's: that comes from
// flags, also if two of them say the same.
func TestP7_FlagsOfServe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fleet.json")
	config := `{"listen":"127.0.0.1:4222","operator":"operator-of-this-test","tenants":[{"name":"a"}],
"cluster":{"name":"c","listen":"127.0.0.1:6222","routes":["127.0.0.1:6223"]}}`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := (&serveFlags{config: file, name: "b", store: "b", replicas: 3}).read()
	if err != nil || c.Name != "b" || c.Store != "b" || c.Listen != "127.0.0.1:4222" || c.Replicas != 3 {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err = (&serveFlags{config: file, name: "b", store: "s", listen: "127.0.0.1:1"}).read(); err != nil ||
		c.Listen != "127.0.0.1:1" || c.Replicas != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	for says, f := range map[string]serveFlags{
		"cluster: the server's name":  {store: "s"},
		"store: must not be empty":    {name: "b"},
		"replicas: 2 is none":         {store: "s", name: "b", replicas: 2},
		`listen: "4222" is not host:`: {store: "s", name: "b", listen: "4222"},
	} {
		f.config = file
		if _, err := f.read(); err == nil || !strings.HasPrefix(err.Error(), file+": "+says) {
			t.Errorf("%q: %v", says, err)
		}
	}
}
