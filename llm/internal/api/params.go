package api

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// ParseOptions decodes the JSON object of a provider that is sent with every request, and the one
// in llm.Request.Options, whose members take precedence. Anything but an object is an
// [llm.ErrConfiguration], and so is a reserved member, which the request itself sets.
func ParseOptions(body, raw json.RawMessage, reserved ...string) (map[string]json.RawMessage, error) {
	var own map[string]json.RawMessage
	for _, object := range []json.RawMessage{body, raw} {
		if len(object) == 0 {
			continue
		}
		if err := json.Unmarshal(object, &own); err != nil {
			return nil, llm.Errorf(llm.ErrConfiguration, "provider options must be a JSON object: %v", err)
		}
	}
	for _, name := range reserved {
		if _, ok := own[name]; ok {
			return nil, llm.Errorf(llm.ErrConfiguration,
				"provider option %q is set by the request itself: remove it from the options", name)
		}
	}
	return own, nil
}

// Params writes the members of a request's body that may differ between requests, each with a comma
// before it.
type Params struct {
	// Own holds the caller's parameters, from [ParseOptions]. They replace ours of the same name.
	Own map[string]json.RawMessage

	buf []byte
	err error
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

// Float writes a number, unless it is nil. One that JSON cannot represent is an
// [llm.ErrInvalidRequest] that names the parameter.
func (p *Params) Float(name string, value *float64) {
	if value == nil {
		return
	}
	if math.IsNaN(*value) || math.IsInf(*value, 0) {
		p.Fail(llm.Errorf(llm.ErrInvalidRequest, "%s is not a finite number", name))
	}
	p.Put(name, strconv.FormatFloat(*value, 'g', -1, 64))
}

// Schema returns the schema of a format. One that is not JSON is an [llm.ErrInvalidRequest].
func (p *Params) Schema(f *llm.Format) string {
	if !json.Valid(f.Schema) {
		p.Fail(llm.Errorf(llm.ErrInvalidRequest, "the format's schema is not valid JSON"))
	}
	return string(f.Schema)
}

// Fail makes Bytes return an error.
func (p *Params) Fail(err error) { p.err = cmp.Or(p.err, err) }

// Bytes returns all parameters: ours, then the caller's in the order of their names. The error is
// the first of the other methods.
func (p *Params) Bytes() ([]byte, error) {
	for _, name := range slices.Sorted(maps.Keys(p.Own)) {
		p.buf = append(AppendString(append(p.buf, ','), name), ':')
		p.buf = append(p.buf, p.Own[name]...)
	}
	p.Own = nil
	return p.buf, p.err
}

// Quote returns a string as JSON.
func Quote(s string) string { return string(AppendString(nil, s)) }

// Strings returns a list of strings as JSON.
func Strings(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = Quote(s)
	}
	return "[" + strings.Join(quoted, ",") + "]"
}

// IsNull reports whether a member of a JSON object is missing or null.
func IsNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
