package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/attractor-go/attractor/internal/webguard"
)

const (
	idleTime  = 2 * time.Minute
	maxHeader = 16 << 10
	endTime   = time.Second // for answers that are being written when the server ends
)

// limits bounds the connections of clients and the time of requests.
type limits struct {
	connections int           // that are open at a time
	header      time.Duration // to send the header of a request
	answer      time.Duration // to send a request and to read its answer
	message     time.Duration // for a watcher to read a message
}

// usualLimits returns the limits of a server.
func usualLimits() limits {
	return limits{connections: 128, header: 5 * time.Second, answer: time.Minute, message: 30 * time.Second}
}

// Listen returns a listener on the loopback interface. The port 0 is any free one.
func Listen(ctx context.Context, port int) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("cannot listen on port %d of this machine: %w", port, err)
	}
	return l, nil
}

// URL returns the address of the page, with the token in its fragment, which browsers do not send.
// With an id, the page shows that session.
func (s *Server) URL(l net.Listener, id string) string {
	fragment := "token=" + s.token
	if id != "" {
		fragment += "&session=" + url.QueryEscape(id)
	}
	return "http://" + l.Addr().String() + "/#" + fragment
}

// Serve answers requests until the context ends, and closes the listener and the Server. It returns
// nil then. The listener must be one of the loopback interface.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if addr, ok := l.Addr().(*net.TCPAddr); !ok || !addr.IP.IsLoopback() {
		return errors.Join(fmt.Errorf("the viewer does not listen on %v: only on a loopback address", l.Addr()),
			l.Close(), s.Close())
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: s.limits.header, ReadTimeout: s.limits.answer,
		WriteTimeout: s.limits.answer, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		DisableGeneralOptionsHandler: true, ErrorLog: log.New(io.Discard, "", 0)}
	done := make(chan struct{})
	stopped := context.AfterFunc(ctx, func() {
		defer close(done)
		s.end() // the streams of watchers end
		last, cancel := context.WithTimeout(context.Background(), endTime)
		defer cancel()
		if server.Shutdown(last) != nil { // somebody does not read
			_ = server.Close() // the connections are closed in any case
		}
	})
	err := server.Serve(webguard.FewConnections(l, s.limits.connections))
	if stopped() { // the listener has failed
		return errors.Join(err, server.Close(), s.Close())
	}
	<-done
	return s.Close()
}
