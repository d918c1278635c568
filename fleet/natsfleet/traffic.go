package natsfleet

import "github.com/nats-io/nats-server/v2/server"

// Traffic counts what clients and workers have sent to a server, and it to them, since it started.
type Traffic struct {
	InMessages  int64 `json:"in_messages"`
	InBytes     int64 `json:"in_bytes"`
	OutMessages int64 `json:"out_messages"`
	OutBytes    int64 `json:"out_bytes"`
}

// Traffic returns the server's traffic, without that between servers.
func (s *Server) Traffic() (Traffic, error) {
	v, err := s.server.Varz(&server.VarzOptions{})
	if err != nil {
		return Traffic{}, err
	}
	return Traffic{InMessages: v.InClientMsgs, InBytes: v.InClientBytes, OutMessages: v.OutClientMsgs,
		OutBytes: v.OutClientBytes}, nil
}
