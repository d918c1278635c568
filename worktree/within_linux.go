package worktree

import (
	"os"
	"os/exec"
	"runtime"

	"github.com/attractor-go/attractor/internal/landlock"
)

// runWithin runs a command that changes files in the given directories only, wherever links lead.
// Directories that are missing do not count, and neither does a link in the place of one. A kernel
// without Landlock does not keep it from others.
func runWithin(cmd *exec.Cmd, dirs []string) error {
	abi, err := landlock.ABI()
	if err != nil {
		return cmd.Run()
	}
	rules := []landlock.Rule{{Path: "/", Rights: landlock.Read}, {Path: os.DevNull, Rights: landlock.Write}}
	for _, dir := range dirs {
		rules = append(rules, landlock.Rule{Path: dir, Rights: landlock.Write, NoFollow: true})
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		done <- runRestricted(cmd, abi, rules)
	}()
	return <-done
}

// runRestricted restricts the calling thread, from which the command inherits it, and runs it.
func runRestricted(cmd *exec.Cmd, abi int, rules []landlock.Rule) error {
	ruleset, err := landlock.New(abi, rules)
	if err != nil {
		return err
	}
	defer func() { _ = ruleset.Close() }() // it is only a description
	if err := landlock.Restrict(ruleset); err != nil {
		return err
	}
	return cmd.Run()
}
