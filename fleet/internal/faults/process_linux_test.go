package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/await"
)

// process is a child of the test: this binary in another role.
type process struct {
	setup
	cmd   *exec.Cmd
	log   string        // a file with what it printed to stderr
	ended chan struct{} // closed when it has ended

	mu  sync.Mutex
	out bytes.Buffer
}

// start starts a process, behind the words of a command if there are any.
func start(t *testing.T, logs string, s setup, behind ...string) (*process, error) {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	words := append(behind, os.Args[0])
	p := &process{setup: s, cmd: exec.Command(words[0], words[1:]...), log: filepath.Join(logs, s.Name+".log"),
		ended: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd.Env = append(os.Environ(), setupVar+"="+string(text), "GORACE=atexit_sleep_ms=0")
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = p, log, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL,
		Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // ProcessState has it
		close(p.ended)
	}()
	return p, nil
}

// Write implements io.Writer for the process's output.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

// says reports whether the process has printed something.
func (p *process) says(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Contains(p.out.String(), text)
}

// gone reports whether the process has ended.
func (p *process) gone() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// signal sends a signal to the process, unless it has ended.
func (p *process) signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// end sends a signal and waits until the process has ended.
func (p *process) end(s syscall.Signal) error {
	if err := p.signal(s); err != nil {
		return err
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(await.Limit):
		return errors.Join(fmt.Errorf("%s does not end", p.Name), p.cmd.Process.Kill())
	}
}

// memory returns the largest resident memory so far, in bytes.
func (p *process) memory() int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0 // it has ended
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64) // the kernel writes a number
			return kib << 10
		}
	}
	return 0
}

// processor returns the processor time of a process that has ended, with its own children.
func (p *process) processor() time.Duration {
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// tail returns the end of the process's log.
func (p *process) tail() string {
	f, err := os.Open(p.log)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		_, err = f.Seek(max(0, size-4096), io.SeekStart)
		if err != nil {
			return err.Error()
		}
	}
	data, err := io.ReadAll(f)
	return fmt.Sprintf("%s (%v): %s%v", p.Name, p.cmd.ProcessState, data, err)
}
