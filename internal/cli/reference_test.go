//go:build unix

package cli

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/internal/refdocs"
	"github.com/attractor-go/attractor/llm"
)

// docs/reference/commands.md has every command with its flags.
func TestQ4_Commands(t *testing.T) {
	root := Command()
	page := refdocs.Commands("Commands of attractor", `What `+"`attractor COMMAND --help`"+
		` prints, for every command. A flag that several commands have is described once. Most flags of
sessions can also be set by variables and files: [configuration](../configuration.md). The exit codes are in [exit codes](exit-codes.md).

attractor-otel and attractor-cloud have the same commands. attractor-fleet has [its own](commands-fleet.md), which `+
		"`attractor fleet`"+` runs. Two programs are
run by attractor and not by people: attractor-env inside its sandbox, and attractor-remote on other machines, where `+
		"`attractor-remote serve`"+` speaks
[the protocol of environments](../env-protocol.md).`, root, "attractor run", "attractor chat", "attractor acp")
	refdocs.Page(t, "../../docs/reference/commands.md", "go test ./internal/cli -run Q4_Commands -update", page,
		*update)
}

// The page about exit codes has each code of each help, and each code has a constant.
func TestQ4_ExitCodes(t *testing.T) {
	data, err := os.ReadFile("../../docs/reference/exit-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(data)), " ")
	for _, code := range []int{exitFailed, exitUsage, exitLimit, exitAccess, exitLater, exitAsk, exitDeny} {
		if !strings.Contains(page, "| "+strconv.Itoa(code)+" |") {
			t.Errorf("exit-codes.md has no row for %d", code)
		}
	}
	line, found := regexp.MustCompile(`(?m)^  ([0-9n+]+) +(.*)$`), 0
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		_, codes, _ := strings.Cut(cmd.Long, "Exit codes:\n")
		for _, m := range line.FindAllStringSubmatch(codes, -1) {
			found++
			if row := "| " + m[1] + " | " + m[2] + " |"; !strings.Contains(page, row) {
				t.Errorf("exit-codes.md lacks a row of %s: %s", cmd.CommandPath(), row)
			}
		}
		for _, sub := range cmd.Commands() {
			look(sub)
		}
	}
	look(Command())
	if found < 10 {
		t.Errorf("only %d exit codes in the helps", found)
	}
}

// The error of a failed model call names what helps, in the words of the command.
func TestQ4_FailedModelCallsSayWhatToDo(t *testing.T) {
	for kind, want := range map[error]string{llm.ErrAuthentication: "Check the API key",
		llm.ErrNotFound: "Check the name of the model", llm.ErrQuota: "--fallback",
		llm.ErrRateLimit: "--fallback", llm.ErrOverloaded: "--fallback", llm.ErrServer: "Try again later",
		llm.ErrNetwork: "--base-url", llm.ErrTimeout: "--idle-timeout",
		llm.ErrContextLength: "--fork"} {
		err := llm.Errorf(kind, "it failed")
		err.Provider, err.Status = "anthropic", 400 // from the server of a vendor
		if got := (&runner{Setup: new(attractor.Setup)}).outcome(err).Error(); !strings.Contains(got, want) {
			t.Errorf("%v: %q does not say %s", kind, got, want)
		}
	}
	failed := llm.Errorf(llm.ErrServer, "it failed")
	failed.Provider, failed.Status = "vllm", 500 // the user's own, which no --fallback mends
	if got := (&runner{Setup: new(attractor.Setup)}).outcome(failed).Error(); strings.Contains(got, "--fallback") ||
		!strings.Contains(got, "(VLLM_BASE_URL or --base-url)") {
		t.Errorf("a server of one's own: %q", got)
	}
}
