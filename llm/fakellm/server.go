package fakellm

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"
)

// maxBody is the size of the largest request body, in bytes: Anthropic's own limit.
const maxBody = 32 << 20

// Options configure a [Server]. The zero value means a model without faults.
type Options struct {
	// Faults maps the numbers of requests, counted from 1, to faults.
	Faults map[int]Fault
	// Words is the number of words in a text delta; 0 means 3. Arguments deltas grow with it, from
	// 16 bytes.
	Words int
	// Delay is the time between two events; 0 means none.
	Delay time.Duration
}

// Server is the scripted model. It selects the API by a request's path: POST /v1/messages is
// Anthropic's, /v1/responses and /v1/chat/completions are OpenAI's, /v1beta/models/... is Gemini's.
// It is safe for concurrent use.
type Server struct {
	model Model
	o     Options

	mu       sync.Mutex
	requests []*Request
	cache    cache
}

// New returns a server.
func New(model Model, o Options) *Server {
	if o.Words <= 0 {
		o.Words = 3
	}
	return &Server{model: model, o: o, cache: cache{}}
}

// Requests returns all requests so far, in order, including refused ones. The server keeps all of
// them, with their bodies, because it is made for tests and demonstrations.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// format implements one vendor's API.
type format interface {
	// decode decodes the body into the request. It returns a refusal if the vendor would refuse it.
	decode(r *Request) *refusal
	// whole returns the response as one JSON value, stream returns it as events.
	whole(a *response) []byte
	stream(a *response) []frame
	// failure returns the error body of a refusal, inBand the event of an overload in the middle of
	// a stream.
	failure(f *refusal) []byte
	inBand() frame
	ping() frame
}

// refusal is an error response: the status, the vendor's code for it, and a text.
type refusal struct {
	status        int
	code, message string
}

// checker keeps the first fault of a request.
type checker struct {
	at  string // what the messages begin with
	why *refusal
}

// refuse refuses a request when it has a fault, in the vendor's words.
func (c *checker) refuse(fault bool, format string, args ...any) {
	if fault && c.why == nil {
		c.why = invalid("%s%s", c.at, fmt.Sprintf(format, args...))
	}
}

// pattern returns a regular expression that is compiled at its first use: most programs that link
// this package use few of them, if any.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// frame is one server-sent event.
type frame struct {
	event, data string
	content     bool // a delta of text, thinking or arguments
	closing     bool // the first event after all content
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, hr.Body, maxBody))
	r := &Request{Path: hr.URL.Path, Query: hr.URL.Query(), Header: hr.Header.Clone(), Body: body}
	f, known := formatOf(r.Path, s.o.Words)
	refused := f.decode(r)
	s.record(r)
	if err != nil {
		s.refuse(w, f, &refusal{413, "request_too_large", "Request exceeds the maximum size"})
		return
	}
	if !known {
		s.refuse(w, f, &refusal{404, "not_found_error", "Not found"})
		return
	}
	if hr.Method != http.MethodPost {
		s.refuse(w, f, &refusal{405, "invalid_request_error", "Method Not Allowed"})
		return
	}
	fault, faulty := s.o.Faults[r.N]
	switch {
	case faulty && fault.Kind == FaultStatus:
		s.fail(w, f, fault)
	case faulty && fault.Kind == FaultReset:
		panic(http.ErrAbortHandler)
	case faulty && fault.Kind == FaultSilence:
		<-hr.Context().Done()
	case refused != nil:
		s.refuse(w, f, refused)
	default:
		s.respond(w, hr, r, f, fault)
	}
}

// record numbers a request and keeps it. It does not change afterwards.
func (s *Server) record(r *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.N = len(s.requests) + 1
	s.requests = append(s.requests, r)
}

func (s *Server) refuse(w http.ResponseWriter, f format, why *refusal) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(why.status)
	write(w, f.failure(why))
}

// write ignores errors: the client has disconnected.
func write(w io.Writer, b []byte) { _, _ = w.Write(b) }

func (s *Server) fail(w http.ResponseWriter, f format, fault Fault) {
	status := cmp.Or(fault.Status, http.StatusInternalServerError)
	body := []byte(fault.Body)
	kind := http.DetectContentType(body)
	if fault.Body == "" || fault.Body[0] == '{' {
		kind = "application/json"
	}
	if fault.Body == "" {
		body = f.failure(&refusal{status: status, code: fault.Error, message: http.StatusText(status)})
	}
	w.Header().Set("Content-Type", kind)
	for name, value := range fault.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(status)
	write(w, body)
}

func (s *Server) respond(w http.ResponseWriter, hr *http.Request, r *Request, f format, fault Fault) {
	a := newResponse(r, s.model(r))
	s.mu.Lock()
	a.usage = s.cache.usage(r, a, time.Now())
	a.usage.Searches = a.billed()
	s.mu.Unlock()
	w.Header().Set("Request-Id", fmt.Sprintf("req_%d", r.N))
	if !r.Stream {
		w.Header().Set("Content-Type", "application/json")
		write(w, f.whole(a))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	// The fault is in the middle of a response, even before its first event. The flush fails if the
	// client has disconnected.
	_ = http.NewResponseController(w).Flush()
	out := &streamer{w: w, ctx: hr.Context(), delay: s.o.Delay, f: f, fault: fault}
	out.run(f.stream(a))
}
