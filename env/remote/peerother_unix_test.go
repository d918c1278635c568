//go:build unix && !linux

package remote_test

import "testing"

func container(t *testing.T) machine {
	t.Skip("not run: containers of crun need Linux")
	return machine{}
}

func namespace(t *testing.T) machine {
	t.Skip("not run: namespaces need Linux")
	return machine{}
}
