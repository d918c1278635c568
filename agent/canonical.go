package agent

import (
	"bytes"
	"encoding/json"
	"strings"
)

// canonical returns JSON without white space and with sorted members. Other text stays as it is.
func canonical(args string) string {
	dec := json.NewDecoder(strings.NewReader(args))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil || dec.More() {
		return args
	}
	text, err := marshal(value)
	if err != nil {
		return args
	}
	return string(bytes.TrimSpace(text))
}
