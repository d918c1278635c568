package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// runProxy runs a command with a proxy on loopback that leads to the one on a Unix socket.
func runProxy(args []string) (code int, err error) {
	flags := flag.NewFlagSet("proxy", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	socket := flags.String("socket", "", "")
	listen := flags.String("listen", "127.0.0.1:0", "")
	if err := flags.Parse(args); err != nil {
		return exitUsage, err
	}
	if *socket == "" || flags.NArg() == 0 {
		return exitUsage, errors.New("it needs --socket PATH and, after --, a command")
	}
	if err := raiseLoopback(); err != nil {
		return exitUsage, fmt.Errorf("cannot bring up the loopback interface: %w", err)
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return exitUsage, fmt.Errorf("cannot listen for the command's connections: %w", err)
	}
	defer listener.Close()
	go accept(listener, *socket)
	return runCommand(flags.Args(), withProxy(os.Environ(), "http://"+listener.Addr().String()))
}

// withProxy returns an environment in which programs find the proxy. It replaces other proxies,
// which cannot be reached.
func withProxy(environ []string, proxy string) []string {
	const local = "localhost,127.0.0.1,::1"
	set := []string{
		"HTTP_PROXY=" + proxy, "HTTPS_PROXY=" + proxy, "ALL_PROXY=" + proxy, "NO_PROXY=" + local,
		"http_proxy=" + proxy, "https_proxy=" + proxy, "all_proxy=" + proxy, "no_proxy=" + local,
		"NODE_USE_ENV_PROXY=1", // fetch of Node.js
	}
	drop := []string{"ftp_proxy", "rsync_proxy", "npm_config_proxy", "npm_config_https_proxy", "npm_config_noproxy"}
	for _, entry := range set {
		name, _, _ := strings.Cut(entry, "=")
		drop = append(drop, name)
	}
	environ = slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.ContainsFunc(drop, func(d string) bool { return strings.EqualFold(d, name) })
	})
	return append(environ, set...)
}

// maxConnections limits the connections that are forwarded at a time; others wait. The proxy takes
// fewer and refuses the others, so that they do not wait long.
const maxConnections = 1024

// accept forwards connections to a Unix socket until the listener is closed. Those that are open
// then end with the process.
func accept(listener net.Listener, socket string) {
	places := make(chan struct{}, maxConnections)
	for {
		places <- struct{}{}
		client, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // too many open files
			<-places
			time.Sleep(20 * time.Millisecond)
			continue
		}
		go func() {
			defer func() { <-places }()
			forward(client, socket)
		}()
	}
}

// forward passes on the bytes of one connection in both directions. The proxy ends connections on
// which nothing is sent.
func forward(client net.Conn, socket string) {
	defer client.Close()
	server, err := net.Dial("unix", socket)
	if err != nil {
		return // the client sees a closed connection
	}
	defer server.Close()
	var other sync.WaitGroup
	other.Go(func() { copyHalf(client, server) })
	copyHalf(server, client)
	other.Wait()
}

// copyHalf copies one direction. At its end it tells the receiver; if it fails, it closes both.
func copyHalf(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		err = half.CloseWrite()
	}
	if err != nil {
		to.Close()
		from.Close()
	}
}
