package cli

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Text that nobody has read is told from an input that has ended, also in the sockets that Node
// gives its children.
func TestQ4_UnreadInput(t *testing.T) {
	pipe := func() (in, out *os.File) {
		in, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		return in, out
	}
	socket := func() (in, out *os.File) {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		return os.NewFile(uintptr(pair[0]), "in"), os.NewFile(uintptr(pair[1]), "out")
	}
	for name, open := range map[string]func() (in, out *os.File){"pipe": pipe, "socket": socket} {
		for _, text := range []string{"", "text"} {
			for _, ended := range []bool{false, true} {
				in, out := open()
				if _, err := out.WriteString(text); err != nil {
					t.Fatal(err)
				}
				if ended {
					if err := out.Close(); err != nil {
						t.Fatal(err)
					}
				}
				if got := unread(in); got != (text != "") {
					t.Errorf("%s with %q, ended %v: %v", name, text, ended, got)
				}
				_, _ = in.Close(), out.Close()
			}
		}
	}
}
