package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
)

// extras lists the parameters of the vendors' own agents that are not in their public APIs, and that fakellm therefore refuses.
var extras = []string{"client_metadata"}

// plain removes them from a request.
func plain(r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if len(body) > 0 && json.Unmarshal(body, &fields) == nil {
		n := len(fields)
		for _, name := range extras {
			delete(fields, name)
		}
		if len(fields) < n {
			if body, err = json.Marshal(fields); err != nil {
				return err
			}
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	return nil
}
