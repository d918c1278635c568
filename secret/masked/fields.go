package masked

import (
	"encoding/json"
	"reflect"

	"github.com/attractor-go/attractor/secret"
)

// fields returns a copy of a value in which the secrets in all texts are masked, or the value
// itself if there are none. It looks into exported fields, slices, maps, pointers and interfaces.
// What the value shares with others is not changed. Data of media are left alone.
func fields[T any](m *secret.Masker, value T) T {
	value, _ = fieldsOf(m, value)
	return value
}

// fieldsOf does what fields does, and reports whether there was a secret.
func fieldsOf[T any](m *secret.Masker, value T) (T, bool) {
	masked, changed := mask(m, reflect.ValueOf(&value).Elem())
	if !changed {
		return value, false
	}
	return masked.Interface().(T), true
}

// mask returns the masked copy of a value, and whether it differs.
func mask(m *secret.Masker, v reflect.Value) (reflect.Value, bool) {
	switch v.Kind() {
	case reflect.String:
		text := v.String()
		if masked := m.String(text); masked != text {
			return reflect.ValueOf(masked).Convert(v.Type()), true
		}
	case reflect.Pointer, reflect.Interface:
		return maskElem(m, v)
	case reflect.Struct:
		return maskStruct(m, v)
	case reflect.Slice:
		return maskSlice(m, v)
	case reflect.Map:
		return maskMap(m, v)
	}
	return v, false
}

func maskElem(m *secret.Masker, v reflect.Value) (reflect.Value, bool) {
	if v.IsNil() {
		return v, false
	}
	masked, changed := mask(m, v.Elem())
	if !changed {
		return v, false
	}
	if v.Kind() == reflect.Interface {
		return masked, true
	}
	p := reflect.New(v.Type().Elem())
	p.Elem().Set(masked)
	return p, true
}

func maskStruct(m *secret.Masker, v reflect.Value) (reflect.Value, bool) {
	changed := false
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			continue
		}
		masked, differs := mask(m, v.Field(i))
		if differs && !changed {
			copied := reflect.New(v.Type()).Elem()
			copied.Set(v)
			v, changed = copied, true
		}
		if differs {
			v.Field(i).Set(masked)
		}
	}
	return v, changed
}

func maskSlice(m *secret.Masker, v reflect.Value) (reflect.Value, bool) {
	if raw, ok := reflect.TypeAssert[json.RawMessage](v); ok {
		masked := m.JSON(raw)
		return reflect.ValueOf(masked), string(masked) != string(raw)
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return v, false
	}
	changed := false
	for i := range v.Len() {
		masked, differs := mask(m, v.Index(i))
		if differs && !changed {
			v, changed = reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v), true
		}
		if differs {
			v.Index(i).Set(masked)
		}
	}
	return v, changed
}

func maskMap(m *secret.Masker, v reflect.Value) (reflect.Value, bool) {
	differs := false
	masked := reflect.MakeMap(v.Type())
	for key, value := range v.Seq2() {
		k, other := mask(m, key)
		value, changed := mask(m, value)
		differs = differs || other || changed
		masked.SetMapIndex(k, value)
	}
	if !differs {
		return v, false
	}
	return masked, true
}
