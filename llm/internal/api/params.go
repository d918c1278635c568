package api

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/attractor-go/attractor/llm"
)

// ParseOptions decodes one provider's JSON object in llm.Request.Options. Anything but an object is an [llm.ErrConfiguration],
// and so is a reserved member, which the request itself sets.
func ParseOptions(raw json.RawMessage, reserved ...string) (map[string]json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var own map[string]json.RawMessage
	if err := json.Unmarshal(raw, &own); err != nil {
		return nil, llm.Errorf(llm.ErrConfiguration, "provider options must be a JSON object: %v", err)
	}
	for _, name := range reserved {
		if _, ok := own[name]; ok {
			return nil, llm.Errorf(llm.ErrConfiguration, "provider option %q is set by the request itself: remove it from the options", name)
		}
	}
	return own, nil
}

// Params writes the members of a request's body that may differ between requests, each with a comma before it.
type Params struct {
	// Own holds the caller's parameters, from [ParseOptions]. They replace ours of the same name.
	Own map[string]json.RawMessage

	buf []byte
}

// Put writes a parameter, whose JSON comes in pieces, unless the caller has set it.
func (p *Params) Put(name string, value ...string) {
	if _, ok := p.Own[name]; ok {
		return
	}
	p.buf = append(append(append(p.buf, `,"`...), name...), `":`...)
	for _, v := range value {
		p.buf = append(p.buf, v...)
	}
}

// Bytes returns all parameters: ours, then the caller's in the order of their names.
func (p *Params) Bytes() []byte {
	for _, name := range slices.Sorted(maps.Keys(p.Own)) {
		p.buf = append(AppendString(append(p.buf, ','), name), ':')
		p.buf = append(p.buf, p.Own[name]...)
	}
	p.Own = nil
	return p.buf
}

// Strings returns a list of strings as JSON.
func Strings(list []string) string {
	b := []byte{'['}
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendString(b, s)
	}
	return string(append(b, ']'))
}

// IsNull reports whether a member of a JSON object is missing or null.
func IsNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// Number returns a float as JSON. A value that JSON cannot represent is an [llm.ErrInvalidRequest] that names the parameter.
func Number(name string, f float64) (string, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "", llm.Errorf(llm.ErrInvalidRequest, "%s is not a finite number", name)
	}
	return strconv.FormatFloat(f, 'g', -1, 64), nil
}
