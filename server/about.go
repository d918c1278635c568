package server

import (
	"net/http"
	"strings"
)

// serveHealth answers whether the server takes requests.
func (s *Server) serveHealth(c *call) error {
	if s.isDraining() {
		return c.reply(http.StatusServiceUnavailable, Health{"draining", s.options.Version})
	}
	return c.reply(http.StatusOK, Health{"ok", s.options.Version})
}

// serveDocument answers with the OpenAPI document.
func (s *Server) serveDocument(c *call) error {
	document, err := s.document()
	if err != nil {
		return err
	}
	return c.text(kindJSON, document)
}

// serveMetrics answers with the metrics.
func (s *Server) serveMetrics(c *call) error {
	var b strings.Builder
	s.metrics.write(&b, s.all())
	return c.text(kindText, []byte(b.String()))
}
