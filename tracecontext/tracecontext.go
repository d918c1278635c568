package tracecontext

import (
	"context"
	"net/http"
	"strings"
)

// Fields holds a trace context in the form of the W3C recommendation: the values of the headers
// traceparent and tracestate.
type Fields struct {
	Parent string
	State  string // may be empty
}

// maxState limits the tracestate that is passed on, in bytes. Recipients need not accept more than
// 512.
const maxState = 4 << 10

type key struct{}

// With returns a context with fields, which replace those that ctx has. Fields that do not have the
// form of the recommendation are left out, and without a parent there is no state.
func With(ctx context.Context, f Fields) context.Context {
	if !isParent(f.Parent) {
		f = Fields{}
	}
	if len(f.State) > maxState || !isPrintable(f.State) {
		f.State = ""
	}
	return context.WithValue(ctx, key{}, f)
}

// From returns the fields of a context. They are empty if it has none.
func From(ctx context.Context) Fields {
	f, _ := ctx.Value(key{}).(Fields)
	return f
}

// All returns the fields by the names that the recommendation gives them. It returns nil if the
// context has none.
func All(ctx context.Context) map[string]string {
	f := From(ctx)
	if f.Parent == "" {
		return nil
	}
	all := map[string]string{"traceparent": f.Parent}
	if f.State != "" {
		all["tracestate"] = f.State
	}
	return all
}

// SetHeader adds the fields of a context to the header of a request, unless it has a traceparent
// already.
func SetHeader(ctx context.Context, header http.Header) {
	if header.Get("Traceparent") != "" {
		return
	}
	for name, value := range All(ctx) {
		header.Set(name, value)
	}
}

// Environ returns the fields of a context as variables of a command, each NAME=value.
func Environ(ctx context.Context) (vars []string) {
	f := From(ctx)
	if f.Parent == "" {
		return nil
	}
	vars = append(vars, "TRACEPARENT="+f.Parent)
	if f.State != "" {
		vars = append(vars, "TRACESTATE="+f.State)
	}
	return vars
}

// isParent reports whether a text is a version, the ids of a trace and a span, and flags, as in
// 00-<32 digits>-<16 digits>-01. Ids of zeros and the version ff are invalid.
func isParent(text string) bool {
	if len(text) != 55 || strings.HasPrefix(text, "ff") || strings.Trim(text[3:35], "0") == "" ||
		strings.Trim(text[36:52], "0") == "" {
		return false
	}
	for i := range len(text) {
		c := text[i]
		dash := i == 2 || i == 35 || i == 52
		digit := '0' <= c && c <= '9' || 'a' <= c && c <= 'f'
		if dash && c != '-' || !dash && !digit {
			return false
		}
	}
	return true
}

// isPrintable reports whether a text can be the value of a header.
func isPrintable(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}
