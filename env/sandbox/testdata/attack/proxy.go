//go:build linux

package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

// dialProxy connects with the proxy of the environment.
func dialProxy() (net.Conn, error) {
	at, err := url.Parse(os.Getenv("HTTPS_PROXY"))
	if err != nil || at.Host == "" {
		return nil, fmt.Errorf("no proxy: %v", err)
	}
	c, err := net.DialTimeout("tcp", at.Host, patience)
	if err != nil {
		return nil, err
	}
	return c, c.SetDeadline(time.Now().Add(patience))
}

// ask sends a request and returns the answer, whose body has to be read before the next request.
func ask(c net.Conn, r *bufio.Reader, method, text string) (*http.Response, error) {
	if _, err := io.WriteString(c, method+" "+text); err != nil {
		return nil, err
	}
	answer, err := http.ReadResponse(r, &http.Request{Method: method})
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("the proxy says %s", answer.Status)
	}
	return answer, err
}

// tunnel asks the proxy for a tunnel.
func tunnel(target string) (net.Conn, error) {
	c, err := dialProxy()
	if err != nil {
		return nil, err
	}
	_, err = ask(c, bufio.NewReader(c), "CONNECT", target+" HTTP/1.1\r\nHost: "+target+"\r\n\r\n")
	return c, err
}

// proxy sends a line through a tunnel and waits for the answer.
func proxy(args []string) error {
	c, err := tunnel(args[0])
	if err != nil {
		return err
	}
	if _, err := io.WriteString(c, "attack\n"); err != nil {
		return err
	}
	buf := make([]byte, 100)
	n, err := c.Read(buf)
	fmt.Printf("%s\n", buf[:n])
	return err
}

// proxyTLS begins TLS in a tunnel, with a name of the host, or none.
func proxyTLS(args []string) error {
	c, err := tunnel(args[0])
	if err != nil {
		return err
	}
	return tls.Client(c, &tls.Config{ServerName: args[1], InsecureSkipVerify: true}).Handshake()
}

// proxyGet asks the proxy for a page with a header Host, and on the same connection for a second one.
func proxyGet(args []string) error {
	c, err := dialProxy()
	if err != nil {
		return err
	}
	r := bufio.NewReader(c)
	for ; len(args) > 1 && args[0] != ""; args = args[2:] {
		answer, err := ask(c, r, "GET", args[0]+" HTTP/1.1\r\nHost: "+args[1]+"\r\n\r\n")
		if err != nil {
			return err
		}
		if _, err := io.Copy(os.Stdout, answer.Body); err != nil {
			return err
		}
	}
	return nil
}

// smuggle sends a request whose length can be read in two ways, and in one of them it holds a second request for another host.
func smuggle(args []string) error {
	c, err := dialProxy()
	if err != nil {
		return err
	}
	inner := "GET " + args[2] + " HTTP/1.1\r\nHost: " + args[3] + "\r\n\r\n"
	text := fmt.Sprintf("%s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n%s", args[0], args[1], 5+len(inner), inner)
	r := bufio.NewReader(c)
	answer, err := ask(c, r, "POST", text)
	if err != nil {
		return err
	}
	if _, err := io.Copy(os.Stdout, answer.Body); err != nil {
		return err
	}
	_, err = http.ReadResponse(r, nil)
	return err
}
