//go:build unix

package cli

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/internal/endless"
)

type endlessAnswer struct {
	name string
	endless.Answer
}

// endlessAnswers returns one delta for each form that an endless answer can have. It is no
// variable, because every command that the tests of this package start is a process of this binary,
// which would make the huge ones first.
func endlessAnswers() []endlessAnswer {
	return []endlessAnswer{
		{"small text", endless.Answer{Kind: endless.Text, Delta: "forty bytes of text and forty bytes more"}},
		{"small escaped text", endless.Answer{Kind: endless.Text,
			Delta: `a \"quoted\" line\n\tof forty bytes, or so\n`}},
		{"huge text", endless.Answer{Kind: endless.Text, Delta: strings.Repeat(`text\n`, 1_500_000)}},
		{"huge thinking", endless.Answer{Kind: endless.Thinking, Delta: strings.Repeat("think ", 1_500_000)}},
		{"small thinking", endless.Answer{Kind: endless.Thinking, Delta: "forty bytes of text and forty bytes more"}},
		{"arguments", endless.Answer{Kind: endless.Arguments, Delta: strings.Repeat("argument ", 10)}},
		{"one line", endless.Answer{Kind: endless.Line, Delta: strings.Repeat("text ", 1_000_000)}},
	}
}

// endlessFormats lists a provider of each format, with the version in its URL.
var endlessFormats = map[string]string{"anthropic": "", "openai": "/v1", "openai-compatible": "/v1", "gemini": ""}

// peakOfEndless runs the command against an endless answer and returns its peak memory in bytes.
func peakOfEndless(t testing.TB, bin, provider string, answer endless.Answer, flags ...string) int64 {
	t.Helper()
	web := httptest.NewServer(answer)
	defer web.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	peak := filepath.Join(t.TempDir(), "peak")
	cmd := exec.Command(self, append([]string{bin, "run", "--yes", "--dir", home, "--provider", provider, "--model",
		"m", "--base-url", web.URL + endlessFormats[provider], "go"}, flags...)...)
	cmd.Env = []string{peakVar + "=" + peak, "HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + home,
		"ANTHROPIC_API_KEY=key-of-a-test", "OPENAI_API_KEY=key-of-a-test", "GEMINI_API_KEY=key-of-a-test",
		"OPENAI_COMPATIBLE_API_KEY=key-of-a-test"}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if answer.Kind == endless.Text { // everything that is shown
		cmd.Stderr = nil
	}
	err = cmd.Run()
	said := stderr.String()
	if cmd.ProcessState.ExitCode() != exitFailed || cmd.Stderr != nil && len(flags) == 0 &&
		!strings.Contains(said, "MiB") {
		t.Fatalf("%v, %s", err, said[max(0, len(said)-500):])
	}
	text, err := os.ReadFile(peak)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// peakVar names the variable with the file for [runForPeak].
const peakVar = "ATTRACTOR_TEST_PEAK"

// runForPeak runs a program, writes its peak memory in bytes to a file and returns its exit code.
// Linux counts the memory of the process that starts a program as the program's, so that process
// must be smaller than one that has run many tests.
func runForPeak(file, program string, args []string) (code int) {
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, err)
		return -1
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		if err := os.WriteFile(file, strconv.AppendInt(nil, maxRSS(usage), 10), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	return cmd.ProcessState.ExitCode()
}

// endlessAll makes TestK11_EndlessAnswer try every form of an answer with every provider.
var endlessAll = flag.Bool("endless.all", false,
	"in TestK11_EndlessAnswer, try each form of an endless answer with each provider, not with one")

// TestK11_EndlessAnswer checks the memory of the whole command until it has cut off an answer that
// does not end. The bound leaves room for the garbage collector, whose pace depends on how busy the
// machine is; BenchmarkK11_EndlessAnswer prints the figures of all forms.
func TestK11_EndlessAnswer(t *testing.T) {
	const limit = 256 << 20
	bin, forms := buildCommand(t), endlessAnswers()
	for i, form := range []string{"small escaped text", "huge text", "arguments", "one line"} {
		a := forms[slices.IndexFunc(forms, func(a endlessAnswer) bool { return a.name == form })]
		var flags []string
		if form == "small escaped text" {
			flags = []string{"--json"}
		}
		for j, provider := range slices.Sorted(maps.Keys(endlessFormats)) {
			if i != j && !*endlessAll {
				continue
			}
			t.Run(provider+" "+form, func(t *testing.T) {
				peak := peakOfEndless(t, bin, provider, a.Answer, flags...)
				t.Logf("%d MiB", peak>>20)
				if peak > limit {
					t.Errorf("%d MiB", peak>>20)
				}
			})
		}
	}
}

// BenchmarkK11_EndlessAnswer reports the peak memory of the command for each form of an endless
// answer.
func BenchmarkK11_EndlessAnswer(b *testing.B) {
	bin := buildCommand(b)
	for provider := range endlessFormats {
		for _, a := range endlessAnswers() {
			for _, flags := range [][]string{nil, {"--json"}} {
				b.Run(fmt.Sprint(provider, " ", a.name, flags), func(b *testing.B) {
					var peak int64
					for b.Loop() {
						peak = max(peak, peakOfEndless(b, bin, provider, a.Answer, flags...))
					}
					b.ReportMetric(float64(peak)/(1<<20), "MB")
				})
			}
		}
	}
}
