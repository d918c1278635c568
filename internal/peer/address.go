package peer

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"testing"
)

// Address returns a TCP address of this machine on which nothing listens, for a server that has to
// know its address before it starts. On Linux it is one of 127.0.0.0/8 that other processes do not
// use, neither for servers nor for their connections, so nothing takes the port before the server
// does.
func Address(t testing.TB) *net.TCPAddr {
	t.Helper()
	host := "127.0.0.1"
	if pid := os.Getpid(); runtime.GOOS == "linux" {
		host = fmt.Sprintf("127.%d.%d.%d", 1+pid>>16&0x7f, pid>>8&0xff, pid&0xff)
	}
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().(*net.TCPAddr)
}
