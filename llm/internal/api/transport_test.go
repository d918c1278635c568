package api_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
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

// TestK8_BodiesArriveWhole compares what the default client sends, without copying, with the segments of the body. More than 1,024
// segments do not fit into one system call, and 1 MiB does not fit into a socket's buffer.
func TestK8_BodiesArriveWhole(t *testing.T) {
	srv := echo(t)
	seed.Check(t, func(rt *rapid.T) {
		most := rapid.SampledFrom([]int{12, 12, 12, 3000}).Draw(rt, "most")
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.Just(0), rapid.IntRange(1, 5), rapid.IntRange(1, 1<<20/most)), most/2, most).Draw(rt, "sizes")
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

// TestK8_NoCopyBuffer checks that a request's body is sent without the buffer of 32 KiB through which net/http copies others.
func TestK8_NoCopyBuffer(t *testing.T) {
	buf := new([1 << 15]byte) // the requests come one after the other
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for { // allocates nothing itself
			if _, err := r.Body.Read(buf[:]); err != nil {
				break
			}
		}
		events(w, "data: 1\n\n")
	}))
	defer srv.Close()
	body := [][]byte{bytes.Repeat([]byte("segment "), 1<<14)}
	other := &http.Client{Transport: http.DefaultTransport}
	own, others := bytesOf(t, nil, srv.URL, body), bytesOf(t, other, srv.URL, body)
	if own+(24<<10) > others {
		t.Errorf("%d bytes a request, client and server together; %d with another client", own, others)
	}
}

// bytesOf returns how many bytes a call allocates.
func bytesOf(t *testing.T, client *http.Client, url string, body [][]byte) uint64 {
	c := call(client, url)
	c.Body = body
	send := func() {
		if _, err := read(t.Context(), c); err != io.EOF {
			t.Fatal(err)
		}
	}
	send()
	const n = 50
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range n {
		send()
	}
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) / n
}

// TestK8_ReplacedTransport checks that a program's own http.DefaultTransport sends the requests.
func TestK8_ReplacedTransport(t *testing.T) {
	before := http.DefaultTransport
	defer func() { http.DefaultTransport = before }()
	used := 0
	http.DefaultTransport = roundTrip(func(r *http.Request) (*http.Response, error) {
		used++
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("data: 1\n\n"))}, nil
	})
	if data, err := read(t.Context(), call(nil, "http://x.test")); err != io.EOF || len(data) != 1 || used != 1 {
		t.Errorf("%q, %v, used %d times", data, err, used)
	}
	dialled := 0
	http.DefaultTransport = &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		dialled++
		return nil, io.ErrUnexpectedEOF
	}}
	if _, err := read(t.Context(), call(nil, "http://x.test")); err == nil || dialled != 1 {
		t.Errorf("%v, dialled %d times", err, dialled)
	}
}

// TestK8_StreamsShareNothing reads many streams at the same time, with buffers that earlier streams have used, some of them left
// before their end.
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
