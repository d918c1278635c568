package anthropic

import (
	"encoding/json"
	"fmt"
	"testing"
)

func BenchmarkDelta(b *testing.B) {
	for _, text := range []string{"a few words of text", `\tif err != nil {\n\t\treturn \"x\"\n`} {
		b.Run(fmt.Sprintf("%.5s", text), func(b *testing.B) {
			data := []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + text +
				`"}    }`)
			b.ReportAllocs()
			var d *decoder
			for i := 0; b.Loop(); i++ {
				if i%20000 == 0 { // a response of 20,000 deltas
					d = newDecoder("anthropic", "m", nil)
					d.Started = true
					if err := d.blockStart(0, json.RawMessage(`{"type":"text","text":""}`), nil); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := d.Step(data); err != nil {
					b.Fatal(err)
				}
				d.Out()
			}
		})
	}
}
