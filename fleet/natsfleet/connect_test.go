package natsfleet

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
)

// A server that is slow asks whether the client lives before it answers.
func TestP7_SlowServerIsConnectedTo(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for _, answer := range []string{"PING", "PONG"} {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(c, `INFO {"server_id":"s","version":"2.10.0","max_payload":1000}`+"\r\n")
			lines := bufio.NewReader(c)
			for line := ""; err == nil && strings.TrimSpace(line) != "PING"; {
				line, err = lines.ReadString('\n')
			}
			fmt.Fprint(c, answer+"\r\n")
		}
	}()
	nc, err := target{url: "nats://" + l.Addr().String()}.connect(t.Context(), "user", "password")
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
}
