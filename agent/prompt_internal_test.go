package agent

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
)

// A header equals one that was written and read, whatever its fields hold.
func TestK2_HeaderAsWritten(t *testing.T) {
	seed.Check(t, func(rt *rapid.T) {
		var h headerRecord
		draw(rt, reflect.ValueOf(&h).Elem())
		want, wantErr := throughJSON(h)
		got, err := written(h)
		if (err == nil) != (wantErr == nil) {
			rt.Fatalf("error %v, want %v", err, wantErr)
		}
		if err == nil && !reflect.DeepEqual(got, want) {
			rt.Fatalf("%+v\nwant %+v", got, want)
		}
	})
}

// draw sets a value and all that it consists of. A field of a kind that it does not know fails the
// test.
func draw(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64Range(-1, 1).Draw(t, "int"))
	case reflect.Float64:
		v.SetFloat(rapid.SampledFrom([]float64{0, 0, 0.1, -1e300}).Draw(t, "float"))
	case reflect.String:
		v.SetString(rapid.SampledFrom([]string{"", "a", "a", "<é>\u2028\n",
			"\xff"}[:rapid.SampledFrom([]int{4, 4, 4, 4, 4, 4, 4, 5}).Draw(t, "texts")]).Draw(t, "text"))
	case reflect.Struct:
		for i := range v.NumField() {
			draw(t, v.Field(i))
		}
	case reflect.Pointer:
		if rapid.IntRange(0, 3).Draw(t, "set") == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			draw(t, v.Elem())
		}
	case reflect.Slice:
		if raw, ok := v.Addr().Interface().(*json.RawMessage); ok {
			*raw = json.RawMessage(rapid.SampledFrom([]string{`{}`, `{"a":"<"}`, `[1,null]`, `{"a":1}`, `{ }`,
				``}).Draw(t, "raw"))
			return
		}
		if n := rapid.IntRange(-1, 2).Draw(t, "len"); n >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, 2))
		}
		for i := range v.Len() {
			draw(t, v.Index(i))
		}
	default:
		t.Fatalf("a %s", v.Type())
	}
}
