package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/tool"
)

// maxQuestion limits the text of a server's question, in bytes.
const maxQuestion = 4 << 10

// refuseSampling answers requests for the model.
func refuseSampling(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if method == "sampling/createMessage" {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
				Message: "sampling is not supported: servers get no access to the model of this client"}
		}
		return next(ctx, method, req)
	}
}

// asked puts a server's question to a person. It belongs to a call; if nobody can answer, it is
// declined.
func (s *server) asked(ctx context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	r, others := s.asking(ctx)
	if r == nil || r.Session == nil {
		return &sdk.ElicitResult{Action: "decline"}, nil
	}
	q, err := s.question(req.Params, others)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	r.wait(1)
	defer r.wait(-1)
	answer, err := r.Session.Ask(ctx, q)
	switch {
	case errors.Is(err, tool.ErrNobody):
		return &sdk.ElicitResult{Action: "decline"}, nil
	case err != nil:
		return &sdk.ElicitResult{Action: "cancel"}, nil
	}
	result := &sdk.ElicitResult{Action: answer.Action.String()}
	if q.Form != nil && answer.Action == tool.ActionAccept {
		if err := json.Unmarshal(answer.Content, &result.Content); err != nil {
			return nil, fmt.Errorf("the answer is no JSON object: %w", err)
		}
	}
	return result, nil
}

// asking returns the call to which a question belongs: the one with the request that it answers, or
// the only one. Among several it returns the newest, with the number of the others.
func (s *server) asking(ctx context.Context) (r *running, others int) {
	if r, ok := ctx.Value(runningKey{}).(*running); ok {
		return r, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) == 0 {
		return nil, 0
	}
	return s.calls[len(s.calls)-1], len(s.calls) - 1
}

// question returns a server's question for a person.
func (s *server) question(p *sdk.ElicitParams, others int) (tool.Question, error) {
	q := tool.Question{Text: clean(p.Message, maxQuestion), Source: "MCP server " + s.Name, Now: true}
	if others > 0 {
		q.Text += fmt.Sprintf("\n(%d calls run at this server; it does not say for which of them it asks.)", others+1)
	}
	if p.Mode == "url" || p.URL != "" {
		u, err := url.Parse(p.URL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return q, errors.New("only http and https addresses are shown to people")
		}
		q.Text += fmt.Sprintf("\nThe server asks you to open this address at %s: %s", u.Host,
			clean(u.String(), maxQuestion))
		q.Options = []string{"I have opened it"}
		return q, nil
	}
	form, err := json.Marshal(p.RequestedSchema)
	if err != nil {
		return q, err
	}
	for _, reference := range []string{`"$ref"`, `"$dynamicRef"`, `"$recursiveRef"`} { // one to itself would never end
		if bytes.Contains(form, []byte(reference)) {
			return q, errors.New("a form has no references")
		}
	}
	if q.Form = form; p.RequestedSchema == nil {
		q.Form = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return q, nil
}

// opened reports whether a call failed only because the person has to open an address first, and
// has done so now.
func (s *server) opened(ctx context.Context, err error) bool {
	var refused *jsonrpc.Error
	if !errors.As(err, &refused) || refused.Code != sdk.CodeURLElicitationRequired || !s.owner.o.Answers {
		return false
	}
	var data struct{ Elicitations []*sdk.ElicitParams }
	if json.Unmarshal(refused.Data, &data) != nil || len(data.Elicitations) == 0 ||
		len(data.Elicitations) > maxRequests {
		return false
	}
	for _, p := range data.Elicitations {
		if p == nil || p.URL == "" {
			return false
		}
		answer, err := s.asked(ctx, &sdk.ElicitRequest{Params: p})
		if err != nil || answer.Action != tool.ActionAccept.String() {
			return false
		}
	}
	return true
}
