package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/webguard"
	"github.com/attractor-go/attractor/journal"
)

// refusal is an error with the status, code and text of its answer.
type refusal struct {
	status int
	code   Code
	text   string
	retry  time.Duration // after which the same may succeed; 0 if that is not known
}

func (e *refusal) Error() string { return e.text }

func refuse(status int, code Code, format string, args ...any) error {
	return &refusal{status: status, code: code, text: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) error {
	return refuse(http.StatusBadRequest, CodeInvalid, format, args...)
}

func forbidden(format string, args ...any) error {
	return refuse(http.StatusForbidden, CodeForbidden, format, args...)
}

func conflict(format string, args ...any) error {
	return refuse(http.StatusConflict, CodeConflict, format, args...)
}

func limited(retry time.Duration, format string, args ...any) error {
	return &refusal{http.StatusTooManyRequests, CodeLimit, fmt.Sprintf(format, args...), retry}
}

func errKeyReused() error {
	return refuse(http.StatusUnprocessableEntity, CodeKeyReused,
		"the Idempotency-Key has come with another request; each request needs one of its own")
}

func errNoSession(id string) error {
	return refuse(http.StatusNotFound, CodeNotFound, "there is no session %.80q", id)
}

func errDraining() error {
	return &refusal{http.StatusServiceUnavailable, CodeDraining,
		"the server is about to end; its sessions go on when it is back", 10 * time.Second}
}

// refusalOf returns the answer to an error.
func refusalOf(err error) *refusal {
	var given *refusal
	var guarded *webguard.Error
	var large *http.MaxBytesError
	var unpriced *agent.UnpricedError
	r := &refusal{status: http.StatusInternalServerError, code: CodeInternal, text: err.Error()}
	switch {
	case errors.As(err, &given):
		return given
	case errors.As(err, &guarded):
		r.status, r.code = guarded.Status, CodeInvalid
		switch guarded.Status {
		case http.StatusUnauthorized:
			r.code = CodeUnauthorized
		case http.StatusForbidden, http.StatusMisdirectedRequest:
			r.code = CodeForbidden
		case http.StatusNotFound:
			r.code = CodeNotFound
		}
	case errors.As(err, &unpriced):
		r.status, r.code = http.StatusBadRequest, CodeInvalid
		r.text = fmt.Sprintf("budget_usd cannot be counted, because the prices of the model %q of %s are not known: "+
			"give budget_tokens, too", unpriced.Model, unpriced.Provider)
	case errors.As(err, &large):
		r.status, r.code = http.StatusRequestEntityTooLarge, CodeTooLarge
		r.text = fmt.Sprintf("a body has at most %d bytes here", large.Limit)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		r.status, r.code = http.StatusInsufficientStorage, CodeStorage
	case errors.Is(err, journal.ErrLocked):
		r.status, r.code = http.StatusConflict, CodeConflict
	case errors.Is(err, fs.ErrNotExist):
		r.status, r.code = http.StatusNotFound, CodeNotFound
	case errors.Is(err, attractor.ErrConfig), errors.Is(err, attractor.ErrNoModel), errors.Is(err, attractor.ErrNoKey),
		errors.Is(err, attractor.ErrNoProvider), errors.Is(err, attractor.ErrNoServer):
		r.status, r.code = http.StatusBadRequest, CodeInvalid
	}
	return r
}

// fail answers with an error, unless the answer has begun.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody waits for the answer
	}
	why := refusalOf(err)
	if why.status >= http.StatusInternalServerError && why.code != CodeDraining {
		s.options.Logger.Error("a request failed", "method", r.Method, "path", r.URL.Path, "error",
			s.options.Masker.String(why.text))
	}
	status, data := s.problem(w.Header(), why)
	w.WriteHeader(status)
	_, _ = w.Write(data) // an error means that nobody reads the answer
}

// problem returns the body for an error, and sets the headers.
func (s *Server) problem(h http.Header, why *refusal) (status int, body []byte) {
	h.Set("Content-Type", kindProblem)
	if why.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(int(why.retry.Seconds()+1)))
	}
	if why.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	data, err := json.Marshal(Problem{http.StatusText(why.status), why.status, why.code,
		s.options.Masker.String(why.text)})
	if err != nil { // strings and a number can always be encoded
		data = []byte("{}")
	}
	return why.status, data
}
