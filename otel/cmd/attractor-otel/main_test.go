package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/internal/orphans"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/otel/internal/receiver"
)

// mainVar is the variable that makes the test binary the command.
const mainVar = "OTEL_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainVar) != "" {
		os.Exit(run())
	}
	orphans.Adopt()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { os.Exit(orphans.Check(code)) }))
}

// program returns the command in a clean environment with a model that answers.
func program(t *testing.T, vars []string, args ...string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	server := httptest.NewServer(fakellm.New(fakellm.Script(
		fakellm.Turn{Calls: []fakellm.Call{{ID: "c1", Name: "shell",
			Args: []byte(`{"command":"env | grep OTLP; echo \"$TRACEPARENT\""}`)}}},
		fakellm.Turn{Text: "Done."}), fakellm.Options{}))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	dir := t.TempDir()
	cmd = exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Dir = dir
	cmd.Env = append([]string{mainVar + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + dir,
		"XDG_STATE_HOME=" + dir + "/state", "ANTHROPIC_API_KEY=sk-none",
		"ANTHROPIC_BASE_URL=" + server.URL, "OTEL_EXPORTER_OTLP_HEADERS=authorization=receiver-password"}, vars...)
	stderr = new(bytes.Buffer)
	cmd.Stderr = stderr
	return cmd, stderr
}

func names(r *receiver.Receiver) string {
	var all []string
	for _, s := range r.Spans() {
		all = append(all, strings.Fields(s.Name)[0])
	}
	return strings.Join(all, " ")
}

const session = "invoke_agent chat execute_tool chat"

// Each way to run a session reports it.
func TestN6_CommandsReport(t *testing.T) {
	for name, c := range map[string]struct {
		args  []string
		stdin string
		want  string
	}{
		"run": {[]string{"run", "--yes", "--no-journal", "do it"}, "", session},
		"json": {[]string{"run", "--yes", "--no-journal", "--input", "json"}, `{"type":"user","text":"do it"}` + "\n",
			session},
		"demo": {[]string{"demo"}, "",
			"invoke_agent chat execute_tool execute_tool execute_tool chat execute_tool execute_tool chat " +
				"execute_tool execute_tool chat execute_tool chat"},
	} {
		t.Run(name, func(t *testing.T) {
			r := receiver.New(t)
			cmd, stderr := program(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.URL, "OTEL_SERVICE_NAME=nightly"},
				c.args...)
			cmd.Stdin = strings.NewReader(c.stdin)
			out, err := cmd.Output()
			if err != nil || strings.Contains(stderr.String(), "attractor-otel:") {
				t.Fatalf("%v\n%s", err, stderr)
			}
			if got := names(r); got != c.want {
				t.Errorf("the spans are %q, want %q", got, c.want)
			}
			if r.Metrics()["gen_ai.client.operation.duration"] == nil || r.Resource()["service.name"] != "nightly" {
				t.Errorf("the metrics are %v, the resource %v", r.Metrics(), r.Resource())
			}
			if text := string(out) + stderr.String(); strings.Contains(text, "receiver-password") {
				t.Errorf("a command of the model saw the password of the receiver:\n%s", text)
			}
		})
	}
}

// An editor's sessions are reported as well.
func TestN6_EditorsReport(t *testing.T) {
	r := receiver.New(t)
	cmd, stderr := program(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.URL}, "acp", "--yes")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	editor(t, in, out, cmd.Dir)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, stderr)
	}
	if got := names(r); got != session {
		t.Errorf("the spans are %q\n%s", got, stderr)
	}
}

// Nothing is sent unless a variable asks for it.
func TestN6_NothingWithoutAsking(t *testing.T) {
	r := receiver.New(t)
	for _, vars := range [][]string{nil, {"OTEL_SDK_DISABLED=true", "OTEL_EXPORTER_OTLP_ENDPOINT=" + r.URL},
		{"OTEL_TRACES_EXPORTER=none", "OTEL_METRICS_EXPORTER=none", "OTEL_EXPORTER_OTLP_ENDPOINT=" + r.URL}} {
		cmd, stderr := program(t, vars, "run", "--yes", "--no-journal", "--json", "do it")
		out, err := cmd.Output()
		if err != nil || r.Requests() != 0 || strings.Contains(stderr.String(), "attractor-otel:") {
			t.Errorf("%v: %v, %d requests\n%s", vars, err, r.Requests(), stderr)
		}
		if regexp.MustCompile(`00-[0-9a-f]{32}-`).Match(out) { // an id of a session may have 00- in it
			t.Errorf("%v: commands got a trace:\n%s", vars, out)
		}
	}
}

// With gRPC the same arrives.
func TestN6_GRPC(t *testing.T) {
	r := receiver.New(t)
	cmd, stderr := program(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.GRPC(t), "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"},
		"run", "--yes", "--no-journal", "do it")
	if err := cmd.Run(); err != nil || strings.Contains(stderr.String(), "attractor-otel:") {
		t.Fatalf("%v\n%s", err, stderr)
	}
	if got := names(r); got != session || r.Metrics()["gen_ai.client.token.usage"] == nil {
		t.Errorf("the spans are %q, the metrics %v", got, r.Metrics())
	}
}

// Other exporters, and settings that make no sense.
func TestN6_Exporters(t *testing.T) {
	cmd, stderr := program(t, []string{"OTEL_TRACES_EXPORTER=console"}, "run", "--yes", "--no-journal", "do it")
	if out, err := cmd.Output(); err != nil || string(out) != "Done.\n" || !strings.Contains(stderr.String(),
		`"Name":"execute_tool shell"`) {
		t.Errorf("%v: the answer is %q, standard error\n%s", err, out, stderr)
	}
	for vars, want := range map[string]string{"OTEL_TRACES_EXPORTER=zipkin": `OTEL_TRACES_EXPORTER is "zipkin"; it can be otlp, console or none`,
		"OTEL_EXPORTER_OTLP_PROTOCOL=http/json":         `OTEL_EXPORTER_OTLP_PROTOCOL is "http/json"; it can be http/protobuf or grpc`,
		"OTEL_EXPORTER_OTLP_ENDPOINT=127.0.0.1:9":       `OTEL_EXPORTER_OTLP_ENDPOINT is no URL; write it as http://HOST:PORT`,
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=some.host:": `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is no URL; write it as http://HOST:PORT`} {
		cmd, stderr := program(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:9", vars}, "run", "--yes",
			"--no-journal", "do it")
		if out, err := cmd.Output(); err != nil || string(out) != "Done.\n" || strings.Count(stderr.String(),
			want) != 1 {
			t.Errorf("%s: %v: the answer is %q, standard error\n%s", vars, err, out, stderr)
		}
	}
}

// A receiver that is down, hangs or refuses neither holds a session nor says more than one line.
func TestN6_BrokenReceivers(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() }) // it takes connections and never answers
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no\x1b[2J\n"+strings.Repeat("attractor-otel: warning: ", 1000), http.StatusNotFound)
	}))
	t.Cleanup(refusing.Close)
	for name, c := range map[string]struct{ url, protocol string }{"silent": {"http://" + silent.Addr().String(),
		"http/protobuf"},
		"gone": {"http://" + gone.Addr().String(), "http/protobuf"}, "refusing": {refusing.URL, "http/protobuf"},
		"gone, gRPC": {"http://" + gone.Addr().String(), "grpc"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, stderr := program(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.url,
				"OTEL_EXPORTER_OTLP_PROTOCOL=" + c.protocol}, "run", "--yes", "--no-journal", "do it")
			out, err := cmd.Output()
			if err != nil || string(out) != "Done.\n" {
				t.Errorf("%v: the answer is %q\n%s", err, out, stderr)
			}
			warnings := 0
			for line := range strings.Lines(stderr.String()) {
				if strings.HasPrefix(line, "attractor-otel: warning: ") {
					warnings++
				} else if strings.Contains(line, "export") { // as package log prints it
					t.Errorf("standard error has %q", line)
				}
			}
			if warnings != 1 || strings.Contains(stderr.String(), "\x1b[2J") || stderr.Len() > 3000 ||
				strings.Contains(stderr.String(), "receiver-password") {
				t.Errorf("there are %d warnings:\n%s", warnings, stderr)
			}
		})
	}
}

// A signal ends the session, and what it has reported is sent.
func TestN6_Signal(t *testing.T) {
	r := receiver.New(t)
	began := make(chan struct{}, 1)
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body) // otherwise the end of the request is not noticed
		began <- struct{}{}
		<-req.Context().Done()
	}))
	defer model.Close()
	cmd, stderr := program(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.URL,
		"TRACEPARENT=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
		"run", "--yes", "--no-journal", "--base-url", model.URL, "do it")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-began
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 128+int(syscall.SIGTERM) {
		t.Errorf("%v\n%s", err, stderr)
	}
	if got := names(r); got != "invoke_agent chat" {
		t.Fatalf("the spans are %q", got)
	}
	for _, s := range r.Spans() {
		if s.TraceId[0] != 0x4b {
			t.Errorf("%s is in the trace %x", s.Name, s.TraceId)
		}
		if a := receiver.Attributes(s.Attributes); s.Name != "invoke_agent attractor" && a["error.type"] != "aborted" {
			t.Errorf("%s: %v", s.Name, a)
		}
	}
}
