package rules

import (
	"context"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/tool"
)

// Files returns the files that a call reads or writes, also those of the commands in its script, as
// far as that is known. Directories that it searches or lists are not among them. Relative parts
// and links are as in the call.
func (s *Set) Files(ctx context.Context, e env.Environment, req tool.Request) (files []string) {
	for _, p := range s.newCall(ctx, e, req, false).parts {
		for i := range p.files {
			if f := &p.files[i]; !f.tree && !f.names {
				files = append(files, f.place.named)
			}
		}
	}
	return files
}
