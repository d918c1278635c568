package server

import (
	"net/http"
)

// The kinds of bodies.
const (
	kindJSON    = "application/json"
	kindProblem = "application/problem+json"
	kindEvents  = "text/event-stream"
	kindText    = "text/plain; charset=utf-8"
)

// param is a parameter of a request.
type param struct {
	name, in, about string
	schema          map[string]any
	required        bool
}

// route is a method of the API.
type route struct {
	method, path string
	name         string // of the operation
	about        string
	params       []param
	body         string // the schema of the request; "" without one
	status       int    // of a success
	kind         string // of its body
	answer       string // the schema of its body; "" for texts
	public       bool   // no token is needed
	owner        bool   // only the owner's token will do
	serve        func(*Server, *call) error
}

// ofSession returns what serves a route whose path names a session.
func ofSession(serve func(*session, *call) error) func(*Server, *call) error {
	return func(_ *Server, c *call) error {
		x, err := c.sessionOf(c.r.PathValue("id"))
		if err != nil {
			return err
		}
		return serve(x, c)
	}
}

// The types of parameters.
func text() map[string]any { return map[string]any{"type": "string"} }

func number() map[string]any { return map[string]any{"type": "integer", "minimum": 0} }

// routes returns the methods of the API. Those that change something take an Idempotency-Key.
func routes() []route {
	id := param{"id", "path", "the id of the session", text(), true}
	key := param{"Idempotency-Key", "header",
		"at most 255 bytes; the same request with the same key is carried out once, and has the same answer", text(),
		false}
	return []route{
		{method: "GET", path: "/v1/sessions", name: "listSessions", about: "The sessions that the token sees.",
			status: 200, kind: kindJSON, answer: "Sessions", serve: (*Server).serveList},
		{method: "POST", path: "/v1/sessions", name: "createSession",
			about: "Begins a session. With an Idempotency-Key there is one session, also after the server has ended " +
				"meanwhile.",
			params: []param{key}, body: "Create", status: 201, kind: kindJSON, answer: "Session",
			serve: (*Server).serveCreate},
		{method: "GET", path: "/v1/sessions/{id}", name: "getSession", about: "A session.", params: []param{id},
			status: 200, kind: kindJSON, answer: "Session", serve: ofSession((*session).serveGet)},
		{method: "DELETE", path: "/v1/sessions/{id}", name: "deleteSession",
			about: "Ends a session and removes it with its journal.", params: []param{id}, status: 204,
			serve: ofSession((*session).serveDelete)},
		{method: "POST", path: "/v1/sessions/{id}/lines", name: "sendLine",
			about: "Carries out a line of docs/protocol.md: user, steer, interrupt, answer, approve, set and the " +
				"others. It waits until the line is taken, not until an input has ended. A session that is not open " +
				"is opened first.",
			params: []param{id, key}, body: "Line", status: 200, kind: kindJSON, answer: "Reply",
			serve: ofSession((*session).serveLine)},
		{method: "GET", path: "/v1/sessions/{id}/events", name: "watchSession",
			about: "The events of a session as server-sent events, each with an id and an event of docs/protocol.md " +
				"as its data, from the first one or from the one after Last-Event-ID. It goes on until the client " +
				"ends it.",
			params: []param{id, {"Last-Event-ID", "header", "the id of the last event that the client has", text(),
				false},
				{"after", "query", "the same, for clients that cannot set the header", text(), false}},
			status: 200, kind: kindEvents, answer: "Event", serve: ofSession((*session).serveEvents)},
		{method: "GET", path: "/v1/sessions/{id}/diff", name: "getDiff",
			about: "What the session has changed in its directory, as a unified diff.", params: []param{id},
			status: 200,
			kind:   kindText, serve: ofSession((*session).serveDiff)},
		{method: "GET", path: "/v1/sessions/{id}/outputs/{hash}", name: "getOutput",
			about: "A part of a whole output, which an output_blob of a TOOL_CALL_END names. The header " +
				"Attractor-Next has the offset of the next part.",
			params: []param{id, {"hash", "path", "the output_blob", text(), true},
				{"offset", "query", "bytes in front of the part", number(), false},
				{"limit", "query", "bytes of the part, 65,536 unless given, at most 1,048,576", number(), false}},
			status: 200, kind: kindText, serve: ofSession((*session).serveOutput)},
		{method: "GET", path: "/v1/sessions/{id}/files", name: "getFile",
			about:  "A file as it is now, which the changes of a TOOL_CALL_END name, without secrets.",
			params: []param{id, {"path", "query", "the path in the changes", text(), true}}, status: 200,
			kind: "application/octet-stream", serve: ofSession((*session).serveFile)},
		{method: "GET", path: "/v1/events", name: "watchSessions",
			about: "The sessions that the token sees, as server-sent events: a SNAPSHOT, and then those that are " +
				"new, have changed or are gone.",
			status: 200, kind: kindEvents, answer: "Change", serve: (*Server).serveChanges},
		{method: "GET", path: "/health", name: "getHealth", about: "Whether the server takes requests; 503 while it " +
			"is about to end.",
			status: 200, kind: kindJSON, answer: "Health", public: true, serve: (*Server).serveHealth},
		{method: "GET", path: "/metrics", name: "getMetrics", about: "Counts, in the text format of Prometheus. Only " +
			"for the owner's token.", status: 200, kind: kindText, owner: true, serve: (*Server).serveMetrics},
		{method: "GET", path: "/openapi.json", name: "getDocument", about: "This document.", status: 200,
			kind: kindJSON, answer: "Document", public: true, serve: (*Server).serveDocument},
	}
}

// mux returns the handler of the routes.
func (s *Server) newMux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, r := range routes() {
		mux.Handle(r.method+" "+r.path, s.handler(r))
	}
	return mux
}
