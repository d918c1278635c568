package api_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
)

// echo serves events with the requests' bodies.
func echo(t testing.TB) *httptest.Server {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || int64(len(body)) != r.ContentLength {
			t.Errorf("%d of %d bytes: %v", len(body), r.ContentLength, err)
		}
		events(w, "data: "+string(body)+"\n\n")
	}))
	t.Cleanup(srv.Close)
	return srv
}

// TestK8_BodiesArriveWhole compares what the default client sends with the segments of the body.
func TestK8_BodiesArriveWhole(t *testing.T) {
	srv := echo(t)
	seed.Check(t, func(rt *rapid.T) {
		most := rapid.SampledFrom([]int{12, 12, 12, 3000}).Draw(rt, "most")
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.Just(0), rapid.IntRange(1, 5), rapid.IntRange(1, 1<<20/most)), most/2,
			most).Draw(rt, "sizes")
		c := call(nil, srv.URL)
		c.Body = [][]byte{[]byte("{")} // an empty body would have no length
		for i, n := range sizes {
			c.Body = append(c.Body, bytes.Repeat([]byte{byte('a' + i%26)}, n))
		}
		data, err := read(t.Context(), c)
		if want := string(bytes.Join(c.Body, nil)); err != io.EOF || strings.Join(data, "") != want {
			rt.Fatalf("%d bytes arrived, want %d: %v", len(strings.Join(data, "")), len(want), err)
		}
	})
}

// TestK8_StreamsShareNothing reads many streams at the same time, with buffers that earlier streams
// have used, some of them left before their end.
func TestK8_StreamsShareNothing(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.Header.Get("Name")
		for i := range 200 {
			events(w, fmt.Sprintf("data: %s\n\n", strings.Repeat(fmt.Sprintf("%s.%d ", name, i), 1+i*7%90)))
		}
	}))
	defer srv.Close()
	var all sync.WaitGroup
	for stream := range 40 {
		all.Go(func() {
			c := call(nil, srv.URL)
			c.Header = http.Header{"Name": {fmt.Sprint("stream", stream)}}
			resp, err := c.Do(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Close()
			for i := range 200 - stream%2*100 {
				want := strings.Repeat(fmt.Sprintf("stream%d.%d ", stream, i), 1+i*7%90)
				if ev, err := resp.Next(); err != nil || string(ev.Data) != want {
					t.Errorf("stream %d, event %d: %q, %v", stream, i, ev.Data, err)
					return
				}
			}
		})
	}
	all.Wait()
}
