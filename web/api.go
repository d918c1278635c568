package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/attractor-go/attractor/internal/webguard"
	"github.com/attractor-go/attractor/sessions"
)

const (
	// maxQuery bounds the bytes of the text of a search.
	maxQuery = 1000
	// maxLine bounds the bytes of a line of docs/protocol.md.
	maxLine    = 32 << 20
	searchTime = 30 * time.Second
	doTime     = 2 * time.Minute
)

// listed is a session in the list of the page.
type listed struct {
	sessions.Summary
	Own bool `json:"own,omitempty"`
}

// serveSessions answers with a list of sessions.
func (s *Server) serveSessions(w http.ResponseWriter, r *http.Request) error {
	limit, err := webguard.Number(r, "limit", 0, 0, 1_000_000)
	if err != nil {
		return err
	}
	found, err := s.options.Sessions(r.Context(), limit)
	if err != nil {
		return err
	}
	all := make([]listed, len(found))
	for i, one := range found {
		one.Dir, one.Environment = one.Where(), nil
		for _, text := range []*string{&one.Dir, &one.Model, &one.Task, &one.Problem} {
			*text = cut(s.options.Masker.String(*text), maxText)
		}
		all[i] = listed{one, s.options.Own(one.ID) != nil}
	}
	return writeJSON(w, map[string]any{"sessions": all})
}

// use calls do with a session, once all that its journal had at first has been read.
func (s *Server) use(r *http.Request, do func(*session) error) error {
	session, err := s.hub.acquire(r.PathValue("id"))
	if err != nil {
		return err
	}
	defer s.hub.release(session)
	if err := session.wait(r.Context()); err != nil {
		return err
	}
	return do(session)
}

// serveItem answers with a row and its events.
func (s *Server) serveItem(w http.ResponseWriter, r *http.Request) error {
	i, err := strconv.Atoi(r.PathValue("i"))
	if err != nil || i < 0 {
		return refuse(http.StatusBadRequest, "a row is named by its number, from 0")
	}
	return s.use(r, func(session *session) error {
		item, err := session.trace.Item(i)
		if err != nil {
			return err
		}
		return writeJSON(w, item)
	})
}

// serveSearch answers with the numbers of the rows that have a text.
func (s *Server) serveSearch(w http.ResponseWriter, r *http.Request) error {
	text := r.URL.Query().Get("q")
	if len(text) > maxQuery {
		return refuse(http.StatusBadRequest, "a search looks for at most "+strconv.Itoa(maxQuery)+" bytes")
	}
	ctx, cancel := context.WithTimeout(r.Context(), searchTime)
	defer cancel()
	return s.use(r.WithContext(ctx), func(session *session) error {
		rows, err := session.trace.Search(ctx, text)
		more := errors.Is(err, context.DeadlineExceeded)
		if err != nil && !more {
			return err
		}
		return writeJSON(w, map[string]any{"rows": columnFrom(rows, 0), "more": more})
	})
}

// serveDo lets a session of this process carry out a line of docs/protocol.md.
func (s *Server) serveDo(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	own, takes := s.options.Own(id).(Doer)
	if !takes {
		return refuse(http.StatusConflict,
			"the session "+id+" is not one of this viewer's process, so it can only be watched here")
	}
	line, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxLine))
	var long *http.MaxBytesError
	if errors.As(err, &long) {
		return refuse(http.StatusRequestEntityTooLarge, "a line has at most "+strconv.Itoa(maxLine>>20)+" MiB")
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), doTime)
	defer cancel()
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(doTime + s.limits.message)); err != nil {
		return err
	}
	write(w, "application/json", own.Do(ctx, line))
	return nil
}
