package natsfleet

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/attractor-go/attractor/fleet"
)

func TestP1_EmbeddedHasOneTenant(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // the second time everything is there already
		e, err := OpenEmbedded(t.Context(), dir, fleet.Budget{})
		if err != nil {
			t.Fatal(err)
		}
		all, err := e.Tenants(t.Context())
		if err != nil || len(all) != 1 || all[0].Name != fleet.DefaultTenant {
			t.Errorf("tenants: %v, %v", all, err)
		}
		if _, err := e.Open(t.Context(), fleet.DefaultTenant); err != nil {
			t.Error(err)
		}
		if _, err := e.Open(t.Context(), "other"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("an unknown tenant: %v", err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if _, err := e.Open(t.Context(), fleet.DefaultTenant); err == nil {
			t.Error("a closed engine opens a space")
		}
	}
}
