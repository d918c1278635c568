package lsp

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// The times in which a server that publishes diagnostics is expected to say something.
const (
	quietTime  = 250 * time.Millisecond  // after the last of what it publishes
	silentTime = 1500 * time.Millisecond // after a change about which it says nothing
	staleTime  = 15 * time.Second        // after a change, if it has published about older versions
)

// maxPublished limits the files of which published diagnostics are kept.
const maxPublished = 1000

// published holds what a server has published.
type published struct {
	root   string        // of the files that count, with a slash at its end
	silent time.Duration // after a change about which it says nothing

	mu      sync.Mutex
	files   map[string]publication
	count   int             // of publications
	working map[string]bool // the tokens of work that it reports
	worked  bool            // such work has ended
	news    chan struct{}   // has an element when something was published or some work has begun or ended
}

// publication holds what was published last about a file.
type publication struct {
	list    []diagnostic
	version *int
	number  int
}

func (p *published) init(root string, silent time.Duration) {
	p.silent, p.root = silent, strings.TrimSuffix(root, "/")+"/"
	p.files, p.working, p.news = map[string]publication{}, map[string]bool{}, make(chan struct{}, 1)
}

// put keeps what a server publishes.
func (p *published) put(params json.RawMessage) {
	var m struct {
		URI         string            `json:"uri"`
		Version     *int              `json:"version"`
		Diagnostics []json.RawMessage `json:"diagnostics"`
	}
	if json.Unmarshal(params, &m) != nil {
		return
	}
	name := pathOf(m.URI)
	p.mu.Lock()
	defer p.mu.Unlock()
	old, known := p.files[name]
	if !strings.HasPrefix(name, p.root) || !known && len(p.files) == maxPublished || m.Version != nil &&
		old.version != nil && *m.Version < *old.version {
		return
	}
	p.count++
	p.files[name] = publication{readDiagnostics(name, m.Diagnostics), m.Version, p.count}
	signal(p.news)
}

// progress notes that some work has begun or ended.
func (p *published) progress(params json.RawMessage) {
	var m struct {
		Token json.RawMessage       `json:"token"`
		Value struct{ Kind string } `json:"value"`
	}
	if json.Unmarshal(params, &m) != nil || len(m.Token) > 200 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case m.Value.Kind == "begin" && len(p.working) < 100:
		p.working[string(m.Token)] = true
	case m.Value.Kind == "end":
		delete(p.working, string(m.Token))
		p.worked = true
	default:
		return
	}
	signal(p.news)
}

// signal puts an element into a channel that holds one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// forget drops what was published about a file.
func (p *published) forget(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.files, name)
}

// last returns the number of the last publication.
func (p *published) last() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

// settle waits until a server has published diagnostics of all documents after a publication, each
// for the version or a later one, and is quiet, or until it is clear that it has nothing to
// publish.
func (p *published) settle(ctx context.Context, since int, versions map[string]int, over <-chan struct{}) error {
	timer := time.NewTimer(p.silent)
	defer timer.Stop()
	begin := time.Now()
	for {
		select {
		case <-p.news:
			wait := p.silent
			if _, _, answered := p.state(since, versions); answered {
				wait = quietTime
			}
			timer.Reset(wait)
		case <-timer.C:
			if busy, stale, _ := p.state(since, versions); !busy && (!stale || time.Since(begin) > staleTime) {
				return nil
			}
			timer.Reset(p.silent)
		case <-over:
			return errClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// state says whether the server reports work that has not ended, whether its last publication about
// a document is about an older version, after which another one will come, and whether there are
// publications about all documents after one.
func (p *published) state(since int, versions map[string]int) (busy, stale, answered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	busy = len(p.working) > 0
	answered = !busy
	for name, version := range versions {
		f, ok := p.files[name]
		older := f.version != nil && *f.version < version
		stale = stale || older
		answered = answered && ok && !older && f.number > since
	}
	return busy, stale, answered
}

// get returns what was published about a document of a version. That is not known if what was
// published is older, or if nothing was and the server has never reported any work.
func (p *published) get(name string, version int) verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, ok := p.files[name]
	if !ok {
		return verdict{known: p.worked}
	}
	return verdict{f.list, f.version == nil || *f.version >= version}
}

// names returns the files about which something was published, sorted.
func (p *published) names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.files))
}
