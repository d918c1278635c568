package remote

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/sanitize"
)

// bootstrap is the program of the shell over there.
//
//go:embed bootstrap.sh
var bootstrap string

const (
	// maxNoise limits the bytes that the other side prints besides an answer, such as a message of
	// the day.
	maxNoise = 1 << 20
	// maxLine limits a line of an answer, which has at most a few paths.
	maxLine = 64 << 10
	// maxLines limits the lines of an answer.
	maxLines = 100
)

// shell is a conversation with a POSIX shell over there, in lines.
type shell struct {
	conduit *conduit
	in      *bufio.Reader
	mark    string
}

// answer is a line of an answer: its first word and the rest.
type answer struct{ key, text string }

// refused is an error that the shell over there has reported.
type refused string

func (r refused) Error() string { return string(r) }

// newShell sends the functions to a shell and returns what it says about its machine.
func newShell(c *conduit) (*shell, []answer, error) {
	a, b := rand.Text(), rand.Text()
	s := &shell{conduit: c, in: bufio.NewReaderSize(c, maxLine), mark: a + b}
	facts, err := s.ask("at_a=" + a + " at_b=" + b + "\n" + bootstrap)
	return s, facts, err
}

// ask sends a command and returns the lines of its answer.
func (s *shell) ask(command string) ([]answer, error) {
	if _, err := io.WriteString(s.conduit, command+"\n"); err != nil {
		return nil, s.conduit.explain(err)
	}
	return s.answers("done")
}

// call calls a function over there.
func (s *shell) call(function string, args ...string) ([]answer, error) {
	return s.ask(function + " " + shquote.Words(args...))
}

// answers reads the lines of an answer until one with the key last. It skips what others print.
func (s *shell) answers(last string) (list []answer, err error) {
	for noise := 0; ; {
		line, err := s.in.ReadSlice('\n')
		_, said, ok := strings.Cut(string(line), s.mark+" ")
		switch {
		case !ok:
			if noise += len(line); noise > maxNoise {
				return nil, fmt.Errorf("the command prints more than %d KiB that are no answer, such as %q",
					maxNoise>>10, short(string(line)))
			}
			if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
				return nil, s.conduit.explain(err)
			}
			continue
		case err != nil:
			return nil, s.conduit.explain(err)
		}
		s.conduit.progress()
		key, text, _ := strings.Cut(strings.TrimRight(said, "\r\n"), " ")
		switch {
		case key == "failed" && text == "terminal":
			return nil, errors.New("the command gives the shell over there a terminal, which changes bytes: leave " +
				"out options such as -t or -tt")
		case key == "failed":
			return nil, refused(sanitize.Terminal(text))
		case key == last:
			return list, nil
		case len(list) == maxLines:
			return nil, fmt.Errorf("the other side answers with more than %d lines", maxLines)
		}
		list = append(list, answer{key, text})
	}
}

// short returns the beginning of a text for an error.
func short(text string) string {
	return texts.Cut(strings.TrimSpace(sanitize.Terminal(text)), 200, "...")
}

// machine holds what the shell says about where it runs.
type machine struct{ goos, goarch, said, dir string }

// machineOf returns the machine that the first answer describes.
func machineOf(facts []answer) (m machine) {
	var system, cpu string
	for _, f := range facts {
		switch f.key {
		case "system":
			system = f.text
		case "machine":
			cpu = f.text
		case "dir":
			m.dir = f.text
		}
	}
	m.said = strings.TrimSpace(sanitize.Terminal(system + " " + cpu))
	m.goos, m.goarch = systems[system], architectures[cpu]
	return m
}

// systems and architectures map what uname prints to names of Go.
var (
	systems = map[string]string{"Linux": "linux", "Darwin": "darwin", "FreeBSD": "freebsd", "NetBSD": "netbsd",
		"OpenBSD": "openbsd"}
	architectures = map[string]string{"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64",
		"i386": "386", "i486": "386",
		"i586": "386", "i686": "386", "armv6l": "arm", "armv7l": "arm", "armv8l": "arm", "riscv64": "riscv64",
		"ppc64le": "ppc64le",
		"s390x":   "s390x", "loongarch64": "loong64"}
)

// found is a helper that is over there.
type found struct {
	oldest, newest int
	call           string // how it is called: serve or env-serve
	place          string // its path, or the directory it was uploaded to
	name           string // its name in that directory
}

// foundIn returns the helpers that an answer lists.
func foundIn(list []answer, uploaded string) (all []found) {
	for _, a := range list {
		fields := strings.SplitN(a.text, " ", 4)
		var f found
		if len(fields) < 4 {
			continue
		}
		if _, err := fmt.Sscan(fields[0]+" "+fields[1], &f.oldest, &f.newest); err != nil {
			continue
		}
		f.call, f.place = fields[2], fields[3]
		switch a.key {
		case "cached":
			f.name = uploaded
		case "installed":
		default:
			continue
		}
		all = append(all, f)
	}
	return all
}

// start makes the shell become the helper and returns the stream to it.
func (s *shell) start(f found) (io.ReadWriteCloser, error) {
	if _, err := s.call("at_start", f.call, f.place, f.name); err != nil {
		return nil, err
	}
	return stream{s.in, s.conduit}, nil
}

// stream is a link of which some bytes may have been read already.
type stream struct {
	in *bufio.Reader
	*conduit
}

// Read implements io.Reader.
func (s stream) Read(p []byte) (int, error) { return s.in.Read(p) }

// answers returns the texts of the lines with a key.
func answers(list []answer, key string) (all []string) {
	for _, a := range list {
		if a.key == key {
			all = append(all, sanitize.Terminal(a.text))
		}
	}
	return all
}

// upload puts a helper into a directory over there, and returns how to start it.
func (s *shell) upload(ctx context.Context, h *helper, log func(string)) (found, error) {
	kib := fmt.Sprint((h.size + 1023) >> 10)
	list, err := s.call("at_choose", kib, h.loader)
	if err != nil {
		return found{}, err
	}
	if len(answers(list, "lacking")) > 0 {
		return found{}, refused(fmt.Sprintf("the helper %s needs shared libraries and %s, which is not there", h.path,
			h.loader))
	}
	places := answers(list, "place")
	if len(places) == 0 {
		return found{}, refused("no directory there can take a helper: " +
			cmp.Or(strings.Join(answers(list, "unusable"), "; "), "neither HOME nor /tmp"))
	}
	log(fmt.Sprintf("uploading the helper %s (%s KiB) to %s there", h.path, kib, places[0]))
	if _, err := io.WriteString(s.conduit, "at_put "+shquote.Words(places[0], h.name(), fmt.Sprint(h.size),
		h.sum)+"\n"); err != nil {
		return found{}, s.conduit.explain(err)
	}
	if _, err := s.answers("send"); err != nil {
		return found{}, err
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		h.send(ctx, s.conduit)
	}()
	if list, err = s.answers("done"); err != nil {
		s.conduit.cut(err) // sending may wait for a shell that has ended
	}
	<-sent
	if err != nil {
		return found{}, fmt.Errorf("upload the helper: %w", err)
	}
	for range answers(list, "unverified") {
		log("there is no program over there that computes SHA-256, so only the size of the helper was compared")
	}
	if all := foundIn(list, h.name()); len(all) > 0 {
		return all[0], nil
	}
	return found{}, refused("the helper does not say which versions of the protocol it speaks")
}
