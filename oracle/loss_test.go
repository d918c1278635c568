package oracle

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
)

// jsonDifferences returns the places where two JSON texts differ, without list indices.
func jsonDifferences(t *testing.T, a, b []byte, same func(any) any) []string {
	var x, y any
	if err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)); err != nil {
		t.Fatal(err)
	}
	if same != nil {
		x, y = same(x), same(y)
	}
	var out []string
	compare("", x, y, &out)
	return out
}

func compare(at string, x, y any, out *[]string) {
	a, isObject := x.(map[string]any)
	b, both := y.(map[string]any)
	if isObject && both {
		for key := range union(a, b) {
			compare(at+"."+key, a[key], b[key], out)
		}
		return
	}
	l, isList := x.([]any)
	m, both := y.([]any)
	if isList && both && len(l) == len(m) {
		for i := range l {
			compare(at+"[]", l[i], m[i], out)
		}
		return
	}
	if !reflect.DeepEqual(x, y) && !slices.Contains(*out, at) {
		*out = append(*out, at)
	}
}

func union(a, b map[string]any) map[string]bool {
	all := map[string]bool{}
	for _, m := range []map[string]any{a, b} {
		for key := range m {
			all[key] = true
		}
	}
	return all
}

// unknownValues returns the values for which the SDK has no type. The SDK keeps such list elements
// as JSON and sends them unchanged.
func unknownValues(v reflect.Value) (all []json.RawMessage) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return unknownValues(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			all = append(all, unknownValues(v.Index(i))...)
		}
	case reflect.Struct:
		if o, ok := v.Interface().(interface{ Overrides() (any, bool) }); ok {
			if raw, is := o.Overrides(); is {
				return []json.RawMessage{[]byte(fmt.Sprintf("%s", raw))}
			}
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				all = append(all, unknownValues(v.Field(i))...)
			}
		}
	}
	return all
}

// geminiSame removes differences without a meaning: values that the SDK's types cannot distinguish
// from nothing, the role of the system instruction, which the SDK adds and the API ignores, and the
// form of the dummy signature.
func geminiSame(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			if key == "systemInstruction" {
				delete(value.(map[string]any), "role")
			}
			if value = geminiSame(value); value != nil {
				out[key] = value
			}
		}
		if len(out) > 0 {
			return out
		}
		return nil
	case []any:
		for i := range v {
			v[i] = geminiSame(v[i])
		}
		return v
	case string:
		if v == "" {
			return nil
		}
		if v == dummyInBase64 {
			return dummySignature
		}
	}
	return v
}
