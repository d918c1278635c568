package systemprompt

import (
	"fmt"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/sanitize"
)

// gitStatus returns how many files of the work tree are changed, in words, or why that is not
// known.
func gitStatus(repo git.Snapshot) string {
	switch {
	case repo.Counted:
	case repo.Unasked == "":
		return ""
	default:
		return "not known: " + repo.Unasked
	}
	return fmt.Sprintf("%d modified, %d untracked", repo.Modified, repo.Untracked)
}

const environmentEnd = "</environment>"

// environmentBlock returns what the model is told of the place where the session works, and of what
// is allowed there. The model's knowledge cutoff is not in it, because the catalog does not know
// it.
func environmentBlock(p *Parts, repo git.Snapshot, now time.Time) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, sanitize.Line(value))
		}
	}
	platform, confined := p.Env.Platform(), env.ConfinementOf(p.Env)
	b.WriteString("<environment>\n")
	line("Working directory", p.Env.WorkDir())
	line("Writable directories", writable(confined))
	line("Network", confined.Network)
	line("Sandbox", confined.Sandbox)
	line("Approvals", approvals(p.Approvals))
	line("Is git repository", map[bool]string{true: "yes", false: "no"}[repo.Root != ""])
	line("Git branch", repo.Branch)
	line("Git status", gitStatus(repo))
	line("Platform", platform.OS+"/"+platform.Arch)
	line("OS version", platform.Version)
	line("Today's date", now.Format(time.DateOnly))
	line("Model", p.Model)
	writeList(&b, "Changed before this session began (paths from the repository's root)", changedPaths(repo))
	writeList(&b, "Last commits", repo.Subjects)
	b.WriteString(environmentEnd)
	return b.String()
}

// writable returns the directories in which files may be changed, empty if they are unknown.
func writable(c env.Confinement) string {
	switch {
	case c.Writable == nil:
		return ""
	case len(c.Writable) == 0:
		return "none"
	case len(c.ReadOnly) == 0:
		return shownNames(c.Writable)
	}
	return shownNames(c.Writable) + "; but not " + shownNames(c.ReadOnly)
}

func shownNames(files []string) string {
	shown := make([]string, len(files))
	for i, file := range files {
		shown[i] = texts.Shown(file)
	}
	return strings.Join(shown, ", ")
}

// approvals returns what becomes of calls that need somebody's approval.
func approvals(asked bool) string {
	if !asked {
		return "nobody can approve a call; what is not allowed is refused"
	}
	return "some calls wait for somebody's approval"
}

// writeList writes an entry of the environment block that has several lines, or nothing if it has
// none.
func writeList(b *strings.Builder, title string, items []string) {
	if len(items) == 0 {
		return
	}
	b.WriteString(title + ":\n")
	for _, item := range items {
		b.WriteString("- " + sanitize.Line(item) + "\n")
	}
}

// changedPaths returns the changed files that the snapshot names, and how many there are beside
// them.
func changedPaths(repo git.Snapshot) (lines []string) {
	for _, change := range repo.Changed {
		line := texts.Shown(change.Path)
		if change.Untracked {
			line += " (untracked)"
		}
		lines = append(lines, line)
	}
	if more := repo.Modified + repo.Untracked - len(repo.Changed); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return lines
}
