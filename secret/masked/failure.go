package masked

import (
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/secret"
)

// maskFailure returns the failure of a request without secrets, of the same kind.
func maskFailure(m *secret.Masker, err error) error {
	failure, ok := err.(*llm.Error) // a wrapped one has a text of its own
	if !ok {
		return m.Error(err)
	}
	masked := *failure
	masked.Code, masked.Message, masked.RequestID = m.String(failure.Code), m.String(failure.Message),
		m.String(failure.RequestID)
	masked.Raw = []byte(m.String(string(failure.Raw)))
	masked.Err = m.Error(failure.Err)
	return &masked
}
