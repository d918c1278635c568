package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A large Append does not keep its buffer alive, and the lines of one Append do not get into
// another's.
func TestK8_BuffersOfAppend(t *testing.T) {
	ctx := context.Background()
	log, err := NewDir(t.TempDir()).Create(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i, size := range []int{1, 3 * mostBatch, 100, 0, mostBatch, 5} {
		text := fmt.Sprintf(`"%s"`, strings.Repeat(fmt.Sprint(i), size))
		if err := log.Append(ctx, int64(i+1), Record{Kind: "k", Data: json.RawMessage(text)}); err != nil {
			t.Fatal(err)
		}
		want = append(want, text)
		b := batches.Get().(*bytes.Buffer)
		if b.Cap() > mostBatch || b.Len() > 0 {
			t.Errorf("a buffer of %d bytes with %d in it is kept", b.Cap(), b.Len())
		}
		batches.Put(b)
	}
	for r, err := range log.Records(ctx, 1) {
		if err != nil || string(r.Data) != want[r.N-1] {
			t.Errorf("record %d is %.20s, %v", r.N, r.Data, err)
		}
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}
