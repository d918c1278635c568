package attractor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/internal/lookpath"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm/providers"
)

// The bounds of a run of the user's command that prints a key.
const (
	keyTime    = time.Minute
	maxKeyText = 64 << 10 // bytes of what it prints
)

// runKeyCommand runs the user's command, in the home directory, and returns the key that it prints.
// Of PATH it has no directory of the repositories around the session.
func (c *config) runKeyCommand(ctx context.Context, command string) (key string, err error) {
	home, options := c.getenv("HOME"), env.LocalOptions{Vars: env.VarsAll, Environ: c.Environ}
	if search := c.getenv("PATH"); search != "" {
		repositories := git.WorkTrees(realPath(cmp.Or(c.Dir, c.Here.Dir, ".")), home)
		options.Env = []string{"PATH=" + lookpath.Outside(search, repositories...)}
	}
	local, err := env.NewLocal(home, options)
	if err != nil {
		return "", fmt.Errorf("key_command cannot run: %w", err)
	}
	defer func() { err = errors.Join(err, local.Close()) }()
	var out bytes.Buffer
	var said texts.Tail
	result, err := env.Run(ctx, local, env.Command{Script: command, Output: func(stream int, p []byte) {
		if stream == env.Stderr {
			_, _ = said.Write(p) // never fails
			return
		}
		out.Write(p[:min(len(p), maxKeyText-out.Len())])
	}}, keyTime)
	key = strings.TrimSpace(out.String())
	switch {
	case result.TimedOut:
		return "", fmt.Errorf("key_command took longer than %v", keyTime)
	case err != nil:
		return "", fmt.Errorf("key_command: %w", err)
	case result.Code != 0:
		return "", fmt.Errorf("key_command ended with exit code %d: %s", result.Code, said.String())
	case key == "":
		return "", errors.New("key_command printed no key")
	}
	c.masks("key_command", key)
	return key, nil
}

// masked returns credentials whose secrets are masked.
func (c *config) masked(credentials providers.Credentials) providers.Credentials {
	return func(ctx context.Context, k providers.Kind, known providers.Config) (providers.Access, error) {
		access, err := credentials(ctx, k, known)
		for _, value := range append([]string{access.APIKey}, access.Secrets...) {
			c.masks(k.Name, value)
		}
		return access, err
	}
}

// masks masks a secret, if the session has a masker yet.
func (c *config) masks(name, value string) {
	if c.mask != nil {
		c.mask(name, value)
	}
}
