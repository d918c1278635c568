package acp

import (
	"encoding/json"
	"errors"
	"fmt"
)

// The codes of errors, of JSON-RPC and of the protocol.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeUnknownMethod  = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeCancelled      = -32800
	CodeAuthRequired   = -32000
	CodeNotFound       = -32002
)

// Error is the error of a response. The functions of an [Agent] can return one, to choose its code.
// Other errors are internal ones.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error implements error. It returns the message.
func (e *Error) Error() string { return e.Message }

// Errorf returns an error with a code.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Errorf(format, args...).Error()}
}

// asError returns an error as that of a response.
func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: CodeInternal, Message: err.Error()}
}

// decode reads the params of a message.
func decode[T any](params json.RawMessage) (*T, error) {
	v := new(T)
	if len(params) == 0 {
		return nil, Errorf(CodeInvalidParams, "params are missing; they must be an object")
	}
	err := json.Unmarshal(params, v)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil && params[0] == '{':
		return v, nil
	case errors.As(err, &wrong) && wrong.Field != "":
		return nil, Errorf(CodeInvalidParams, "%s must not be a %s", wrong.Field, wrong.Value)
	case err == nil || wrong != nil:
		return nil, Errorf(CodeInvalidParams, "params must be an object")
	}
	return nil, Errorf(CodeInvalidParams, "cannot read params: %v", err)
}
