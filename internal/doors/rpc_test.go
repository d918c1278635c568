package doors_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"sync"
)

// message is a JSON-RPC message, one line.
type message struct {
	ID     string          `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// peers is one end of a JSON-RPC connection, such as one with an editor.
type peers struct {
	prefix string // of the request ids
	out    io.Writer
	// on handles messages that are not answers. Requests are handled on goroutines of their own.
	on func(ctx context.Context, m message) (result any, err error)

	mu      sync.Mutex
	n       int
	pending map[string]chan message
	part    []byte // an incomplete line
	busy    sync.WaitGroup
}

var errGone = errors.New("the other end is gone")

// call sends a request and waits for its answer.
func (p *peers) call(ctx context.Context, method string, params, result any) error {
	answer := make(chan message, 1)
	p.mu.Lock()
	if p.pending == nil {
		p.pending = map[string]chan message{}
	}
	p.n++
	id := p.prefix + strconv.Itoa(p.n)
	p.pending[id] = answer
	p.mu.Unlock()
	if err := p.send(message{ID: id, Method: method, Params: json.RawMessage(mustJSON(params))}); err != nil {
		return err
	}
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			return errGone
		case m.Error != "":
			return errors.New(m.Error)
		}
		return json.Unmarshal(m.Result, result)
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), p.notify("cancelled", map[string]string{"id": id}))
	}
}

func (p *peers) notify(method string, params any) error {
	return p.send(message{Method: method, Params: json.RawMessage(mustJSON(params))})
}

func (p *peers) send(m message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.out.Write([]byte(mustJSON(m) + "\n"))
	return err
}

// feed handles data from the other end.
func (p *peers) feed(ctx context.Context, data []byte) {
	p.part = append(p.part, data...)
	for {
		line, rest, whole := bytes.Cut(p.part, []byte("\n"))
		if !whole {
			return
		}
		var m message
		if json.Unmarshal(line, &m) == nil {
			p.take(ctx, m)
		}
		p.part = rest
	}
}

// take handles one message.
func (p *peers) take(ctx context.Context, m message) {
	switch {
	case m.Method == "":
		p.mu.Lock()
		defer p.mu.Unlock()
		if answer, ok := p.pending[m.ID]; ok {
			delete(p.pending, m.ID)
			answer <- m
		}
	case m.ID == "":
		_, _ = p.on(ctx, m)
	default:
		p.busy.Go(func() {
			answer := message{ID: m.ID}
			result, err := p.on(ctx, m)
			if answer.Result = json.RawMessage(mustJSON(result)); err != nil {
				answer.Result, answer.Error = nil, err.Error()
			}
			_ = p.send(answer) // if the other end is gone, it needs no answer
		})
	}
}

// gone ends the calls that wait for an answer.
func (p *peers) gone() {
	p.mu.Lock()
	for id, answer := range p.pending {
		delete(p.pending, id)
		close(answer)
	}
	p.mu.Unlock()
	p.busy.Wait()
}

// serve reads lines until the end of the input.
func (p *peers) serve(ctx context.Context, in io.Reader) {
	ctx, cancel := context.WithCancel(ctx)
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadBytes('\n')
		p.feed(ctx, line)
		if err != nil {
			cancel()
			p.gone()
			return
		}
	}
}
