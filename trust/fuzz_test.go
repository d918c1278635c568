package trust_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/attractor-go/attractor/trust"
)

// Whatever a store's file holds, a project is trusted only if the file has its hash.
func FuzzStore(f *testing.F) {
	p := newProject(f, ".mcp.json", "{}")
	p.must(p.store.Grant(p.clean()))
	var name string
	for name = range p.kepts() {
	}
	good, err := os.ReadFile(name)
	p.must(err)
	f.Add(good)
	f.Add([]byte(`{"version":1,"root":"/","state":"trusted","files":[{"name":"\ud800","size":-1}]}`))
	f.Add([]byte("null"))
	p.put(".mcp.json", "{ }")
	now := p.clean()
	f.Fuzz(func(t *testing.T, data []byte) {
		p := &project{t, p.dir, p.store, p.kept}
		p.must(os.WriteFile(name, data, 0o600))
		if d, err := p.store.Decide(now); d.State == trust.Trusted && !bytes.Contains(data, []byte(now.Hash())) {
			t.Errorf("%+v, %v", d, err)
		}
		if _, err := p.store.List(); err != nil {
			t.Error(err)
		}
	})
}
