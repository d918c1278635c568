package contain

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A host is never taken for an abandoned one, not even between the making of its file and its
// locking: its commands would be killed.
func TestE2_HostsBesideASearchForAbandonedOnes(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", dir)
	for range 300 {
		h := newHost()
		held := make(chan struct{})
		go func() {
			h.hold()
			close(held)
		}()
		for searched := false; !searched; {
			select {
			case <-held:
				searched = true // the next search is the last
			default:
			}
			// only there: other tests have hosts elsewhere
			hosts, err := findAbandoned([]string{path.Join(dir, "attractor")}, "", namespaces())
			for _, a := range hosts {
				err = errors.Join(err, a.file.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(hosts, func(a abandoned) bool { return a.id == h.id }) {
				t.Fatalf("host %s was taken for an abandoned one", h.id)
			}
		}
		if err := h.release(true); err != nil {
			t.Fatal(err)
		}
	}
}

// Who sees all processes of a host that has ended looks for them: one in the same namespaces, or in
// those that have all others inside them.
func TestE2_HostsOfOtherNamespaces(t *testing.T) {
	const inner, other = "4026532001-4026532002", "4026531836-4026532003"
	dir := t.TempDir()
	for own, want := range map[string]int{firstNamespaces: 4, inner: 1, other: 1, "": 1} {
		for _, host := range []string{firstNamespaces, inner, other, ""} {
			f, err := lockNew(path.Join(dir, hostFile(newHost().id, host)))
			if err == nil {
				err = f.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		found, err := findAbandoned([]string{dir}, "", own)
		if err != nil || len(found) != want {
			t.Errorf("in %q: %v, %v, want %d", own, found, err, want)
		}
		for _, a := range found {
			if err := a.file.Close(); err != nil {
				t.Error(err)
			}
		}
		left, err := filepath.Glob(path.Join(dir, "*"+hostSuffix))
		if err != nil || len(left) != 4 {
			t.Errorf("%q, %v", left, err)
		}
		for _, name := range left {
			if err := os.Remove(name); err != nil {
				t.Error(err)
			}
		}
	}
	if got := namespaces(); got == "" || strings.Trim(got, "0123456789") != "-" {
		t.Errorf("this process is in %q", got)
	}
}
