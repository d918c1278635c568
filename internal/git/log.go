package git

import (
	"context"
	"slices"
	"strconv"
	"strings"
)

// commit holds the parts of a commit that are needed.
type commit struct {
	tree    string
	parents []string
	time    int64
	subject string
}

// subjects returns the subjects of the last commits in the order of git log: the latest known commit comes next. It skips commits that
// cannot be read, such as those that a shallow clone lacks.
func (r *repository) subjects(ctx context.Context, head string) []string {
	var subjects []string
	var waiting []commit
	seen := map[string]bool{}
	add := func(id string) {
		if id == "" || seen[id] {
			return
		}
		seen[id] = true
		if c, err := r.commit(ctx, id); err == nil {
			waiting = append(waiting, c)
		}
	}
	for add(head); len(waiting) > 0 && len(subjects) < maxSubjects; {
		next := 0
		for i, c := range waiting {
			if c.time > waiting[next].time {
				next = i
			}
		}
		c := waiting[next]
		waiting = slices.Delete(waiting, next, next+1)
		subjects = append(subjects, c.subject)
		for _, id := range c.parents[:min(len(c.parents), 100)] {
			add(id)
		}
	}
	return subjects
}

func (r *repository) commit(ctx context.Context, id string) (commit, error) {
	data, err := r.object(ctx, id, commitObject)
	if err != nil {
		return commit{}, err
	}
	return r.parseCommit(string(data))
}

func (r *repository) parseCommit(text string) (c commit, err error) {
	head, message, _ := strings.Cut(text, "\n\n")
	latin1 := false
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "tree":
			c.tree, _ = r.parseID(value)
		case "parent":
			if id, ok := r.parseID(value); ok {
				c.parents = append(c.parents, id)
			}
		case "committer":
			_, when, _ := strings.Cut(value, "> ")
			seconds, _, _ := strings.Cut(when, " ")
			c.time, _ = strconv.ParseInt(seconds, 10, 64) // a commit without a time counts as the oldest
		case "encoding":
			latin1 = strings.EqualFold(value, "iso-8859-1") || strings.EqualFold(value, "latin1")
		}
	}
	if len(c.tree) != r.idLen() {
		return c, errUnknown
	}
	// The subject is the first paragraph.
	message = strings.TrimLeft(message, "\n")
	paragraph, _, _ := strings.Cut(message, "\n\n")
	c.subject = strings.Join(strings.Split(strings.TrimRight(paragraph, "\n"), "\n"), " ")
	if latin1 {
		runes := make([]rune, len(c.subject))
		for i := range len(c.subject) {
			runes[i] = rune(c.subject[i])
		}
		c.subject = string(runes)
	}
	return c, nil
}
