package lsp

import "runtime"

// WaitForJob waits until a server works on a change.
func (s *Servers) WaitForJob() {
	for {
		for _, r := range s.runners {
			if r.next() != nil {
				return
			}
		}
		runtime.Gosched()
	}
}

// WaitForEnd waits until no server's process is left.
func (s *Servers) WaitForEnd() {
	for _, r := range s.runners {
		for r.lives.Load() {
			runtime.Gosched()
		}
	}
}
