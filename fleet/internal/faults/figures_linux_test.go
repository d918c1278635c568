package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/natsfleet"
)

// row is one figure.
type row struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// report prints figures, and writes them to files if there is a directory for them.
func (f *field) report(rows []row) {
	f.Helper()
	text := new(strings.Builder)
	fmt.Fprintf(text, "| %s | |\n|---|---|\n", f.Name())
	for _, r := range rows {
		fmt.Fprintf(text, "| %s | %s |\n", r.Name, r.Value)
	}
	f.Logf("\n%s", text)
	if *reportDir == "" {
		return
	}
	data, err := json.MarshalIndent(rows, "", "\t")
	if err == nil {
		err = errors.Join(os.WriteFile(filepath.Join(*reportDir, f.Name()+".json"), data, 0o644),
			os.WriteFile(filepath.Join(*reportDir, f.Name()+".md"), []byte(text.String()), 0o644))
	}
	if err != nil {
		f.Error(err)
	}
}

// quantiles returns the median, the 95th percentile and the longest of sorted times.
func quantiles(times []time.Duration) string {
	if len(times) == 0 {
		return "none"
	}
	at := func(q float64) time.Duration {
		return times[min(len(times)-1, int(q*float64(len(times))))].Round(10 * time.Millisecond)
	}
	return fmt.Sprintf("%v / %v / %v", at(0.5), at(0.95), at(1))
}

// The same sessions in a fleet without faults, and in one process without a fleet: what the fleet
// costs.
func TestP8_Figures(t *testing.T) {
	n := *longSessions
	f := newField(t, shape{servers: 1, workers: 2, slots: 4, ttl: 10 * time.Second, latency: 150 * time.Millisecond,
		maxDeaths: 1})
	ctx, cancel := context.WithTimeout(t.Context(), patience(n))
	defer cancel()
	ids := sessions(n)
	began := time.Now()
	f.startCrews()
	f.submit(ids)
	f.waitAll(ctx, len(ids))
	took := time.Since(began)
	server, memory := f.servers[0], int64(0)
	for _, c := range f.crews {
		memory = max(memory, c.now().memory())
	}
	serverMemory := server.memory()
	f.stopCrews()
	traffic := f.trafficAtTheEnd()
	disk, err := size(f.configs[0].Store)
	if err != nil {
		t.Fatal(err)
	}
	var workers time.Duration
	for _, c := range f.crews {
		workers += c.now().processor()
	}
	single, singleTook := f.alone(ids)
	each := func(d time.Duration) string { return (d / time.Duration(n)).Round(time.Millisecond).String() }
	per := func(total int64) string { return fmt.Sprintf("%.1f", float64(total)/float64(n)) }
	f.report([]row{
		{"sessions, of 6 model calls of 150 ms and 5 commands of 100 ms each", fmt.Sprint(n)},
		{"sessions a second, 2 workers of 4", fmt.Sprintf("%.2f", float64(n)/took.Seconds())},
		{"sessions a second, one process of 8", fmt.Sprintf("%.2f", float64(n)/singleTook.Seconds())},
		{"processor time a session, workers and their commands", each(workers)},
		{"processor time a session, server", each(server.processor())},
		{"processor time a session, one process without a fleet", each(single)},
		{"messages a session, to the server / from it", per(traffic.InMessages) + " / " + per(traffic.OutMessages)},
		{"KiB a session, to the server / from it", per(traffic.InBytes>>10) + " / " + per(traffic.OutBytes>>10)},
		{"KiB a session on the server's disk", per(disk >> 10)},
		{"largest resident memory of the server / of a worker",
			fmt.Sprintf("%d / %d MiB", serverMemory>>20, memory>>20)},
	})
}

// waitAll waits until n tasks have ended well, by one watch of all.
func (f *field) waitAll(ctx context.Context, n int) {
	f.Helper()
	ended := map[string]bool{}
	for s, err := range f.space.Tasks.Watch(ctx, "") {
		if err != nil {
			f.Fatal(err)
		}
		if s.State.Final() {
			if s.State != fleet.Done || s.Attempt != 1 {
				f.Errorf("%s: %s after %d attempts: %s", s.ID, s.State, s.Attempt, s.Reason)
			}
			ended[s.ID] = true
		}
		if len(ended) == n {
			return
		}
	}
	f.Fatalf("%d of %d tasks have ended", len(ended), n)
}

// trafficAtTheEnd ends the server and returns its traffic.
func (f *field) trafficAtTheEnd() natsfleet.Traffic {
	f.Helper()
	p := f.servers[0]
	if err := p.end(syscall.SIGTERM); err != nil {
		f.Fatal(err)
	}
	var traffic natsfleet.Traffic
	lines := bytes.Split(bytes.TrimSpace(p.out.Bytes()), []byte("\n"))
	if err := json.Unmarshal(lines[len(lines)-1], &traffic); err != nil {
		f.Fatalf("%v: %s", err, p.tail())
	}
	return traffic
}

// alone runs sessions in one process without a fleet, and returns its processor time and how long
// they took.
func (f *field) alone(ids []string) (processor, took time.Duration) {
	f.Helper()
	for _, id := range ids { // the effects of these are counted anew
		if err := os.Remove(f.model.effectsFile(id)); err != nil {
			f.Error(err)
		}
	}
	began := time.Now()
	p, err := start(f.T, f.logs, setup{Role: "alone", Name: "alone", Model: "http://127.0.0.1:" + f.model.port,
		Dir: f.TempDir(), Slots: 8, Sessions: ids})
	if err != nil {
		f.Fatal(err)
	}
	select {
	case <-p.ended:
	case <-time.After(patience(len(ids))):
		f.Error(p.end(syscall.SIGKILL))
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		f.Errorf("exit code %d: %s", code, p.tail())
	}
	return p.processor(), time.Since(began)
}

// size returns the size of all files below a directory.
func size(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}
