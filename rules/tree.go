package rules

import (
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/tool"
)

// maxTree is the number of directory entries that are looked at for files which a recursive command should not read. What is beyond them is
// not looked for: most trees are smaller, and a question about every search of a large one would help nobody.
const maxTree = 5000

// tree returns why reading everything in a directory asks: a secret, or a file that a rule denies or asks about.
func (c *call) tree(p *place, visible bool) (why string) {
	left := maxTree
	dirs := []string{p.name()}
	for len(dirs) > 0 && left > 0 && c.ctx.Err() == nil {
		dir := dirs[0]
		dirs = dirs[1:]
		entries, err := c.env.ReadDir(c.ctx, dir)
		if err != nil {
			continue // what cannot be read here cannot be read by the command, or it is no directory
		}
		if left -= len(entries); left < 0 {
			entries = entries[:len(entries)+left]
		}
		for _, e := range entries {
			if visible && strings.HasPrefix(e.Name, ".") {
				continue
			}
			name := dir + "/" + e.Name
			if why := c.inTree(name); why != "" {
				return why
			}
			if e.IsDir() && e.Name != ".git" {
				dirs = append(dirs, name)
			}
		}
	}
	return ""
}

// inTree returns why a file that is read with all others of a directory asks.
func (c *call) inTree(name string) string {
	if _, ok := secretFile(name); ok {
		return fmt.Sprintf("it also reads %s, which usually holds secrets", name)
	}
	f := file{place: &place{named: name, real: name, known: true, resolved: true}}
	for _, v := range []tool.Verdict{tool.Deny, tool.Ask} {
		for _, r := range c.of(v) {
			if r.path != nil && r.aboutFile(f) && c.hits(r, f) {
				return fmt.Sprintf("it also reads %s, about which there is the rule %s", name, r.text)
			}
		}
	}
	return ""
}
