package api

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/attractor-go/attractor/llm"
)

// ParseOptions reads the JSON object of one provider in llm.Request.Options. A member that is reserved, because the request
// itself says it, is an [llm.ErrConfiguration], and so is anything that is no object.
func ParseOptions(raw json.RawMessage, reserved ...string) (map[string]json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var own map[string]json.RawMessage
	if err := json.Unmarshal(raw, &own); err != nil {
		return nil, llm.Errorf(llm.ErrConfiguration, "provider options: %v", err)
	}
	for _, name := range reserved {
		if _, ok := own[name]; ok {
			return nil, llm.Errorf(llm.ErrConfiguration, "provider option %q: the request itself says it", name)
		}
	}
	return own, nil
}

// Params writes the members of a request's body that may differ from call to call, each with a comma before it.
type Params struct {
	// Own are the caller's own, from [ParseOptions]. They take the place of ours of the same name.
	Own map[string]json.RawMessage

	buf []byte
}

// Put writes a parameter, whose JSON comes in pieces, unless the caller has given it.
func (p *Params) Put(name string, value ...string) {
	if _, ok := p.Own[name]; ok {
		return
	}
	p.buf = append(append(append(p.buf, `,"`...), name...), `":`...)
	for _, v := range value {
		p.buf = append(p.buf, v...)
	}
}

// Bytes is everything that was put, then the caller's own in the order of their names.
func (p *Params) Bytes() []byte {
	for _, name := range slices.Sorted(maps.Keys(p.Own)) {
		p.buf = append(AppendString(append(p.buf, ','), name), ':')
		p.buf = append(p.buf, p.Own[name]...)
	}
	p.Own = nil
	return p.buf
}

// Number writes a float in JSON. What JSON has no word for is an [llm.ErrInvalidRequest] that names the parameter.
func Number(name string, f float64) (string, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "", llm.Errorf(llm.ErrInvalidRequest, "%s is no number", name)
	}
	return strconv.FormatFloat(f, 'g', -1, 64), nil
}
