package agent

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"
)

// BenchmarkTextDelta measures the cost of a delta of 20 bytes from the model's stream to the
// consumers, in answers of 1,000 deltas.
func BenchmarkTextDelta(b *testing.B) {
	run := func(b *testing.B, s *eventStream) {
		b.ReportAllocs()
		whole := strings.Repeat("twenty bytes of text", 1000)
		for i := range b.N {
			if i%1000 == 0 {
				s.emit(&StepStart{}, &AssistantTextStart{})
			}
			s.emit(&AssistantTextDelta{Text: "twenty bytes of text"})
			if i%1000 == 999 {
				s.emit(&AssistantTextEnd{Text: whole}, &StepEnd{})
			}
		}
	}
	b.Run("nobody", func(b *testing.B) { run(b, newEventStream("s", time.Now, nil)) })
	b.Run("OnEvent", func(b *testing.B) { run(b, newEventStream("s", time.Now, func(Event) {})) })
	b.Run("cursor", func(b *testing.B) {
		s := newEventStream("s", time.Now, nil)
		var reader sync.WaitGroup
		reader.Go(func() {
			for range s.cursor(context.Background()) {
			}
		})
		run(b, s)
		s.emit(&SessionEnd{})
		reader.Wait()
	})
	b.Run("cursor in step", func(b *testing.B) {
		var c cursor
		s := newEventStream("s", time.Now, func(Event) { c.next(context.Background()) })
		c.stream = s
		run(b, s)
	})
}
