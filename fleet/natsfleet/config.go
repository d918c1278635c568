package natsfleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/internal/secretref"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/journal"
)

// Config says how a server runs, or one of a cluster. As a file it is one JSON object; see
// README.md.
type Config struct {
	// Name is the server's own in a cluster.
	Name string `json:"name,omitempty"`
	// Store is the directory of the server's data.
	Store string `json:"store"`
	// Listen is the host and port for workers and clients. Empty means that only this process
	// connects.
	Listen string `json:"listen,omitempty"`
	// TLS encrypts the connections. Without it, tokens and data are readable on the network.
	TLS *TLS `json:"tls,omitempty"`
	// Operator is the secret of the operator and the workers.
	Operator Token    `json:"operator"`
	Tenants  []Tenant `json:"tenants"` // at least one
	// Slots bounds the model calls of all workers together.
	Slots []fleet.SlotLimit `json:"slots,omitempty"`
	// Replicas is the number of servers that keep each record: 1 unless set, or 3, or 5. It needs
	// as many servers in the cluster.
	Replicas int      `json:"replicas,omitempty"`
	Cluster  *Cluster `json:"cluster,omitempty"`
	// Sync says when an acknowledged record survives a crash of the machine. "always", the default,
	// syncs each before it is acknowledged. A duration, such as "10s", syncs that often: a crash
	// loses what was acknowledged since, unless another server has it.
	Sync SyncInterval `json:"sync,omitempty"`
	// MaxStore bounds the server's data, in bytes; 0 means three quarters of what is free on the
	// disk when it starts.
	MaxStore int64 `json:"max_store,omitempty"`
	// Shards is the number of parts of a tenant's journals, 4 unless set, each with two streams of
	// at most some 80,000 sessions. A tenant that has journals keeps the number that it began with.
	Shards int `json:"shards,omitempty"`

	// Logger gets the server's log; nil logs nothing.
	Logger *slog.Logger `json:"-"`
}

// Tenant is a tenant in a configuration.
type Tenant struct {
	fleet.Tenant
	// Token is the secret of the tenant's clients. Empty means that there are none: only workers
	// reach the tenant.
	Token Token `json:"token,omitempty"`
	// MaxStore bounds the tenant's data, in bytes, each replica counted; 0 means no bound but the
	// server's.
	MaxStore int64 `json:"max_store,omitempty"`
}

// TLS names the files of a server's certificate.
type TLS struct {
	Cert string `json:"cert"`
	Key  string `json:"key"`
	// CA has the authorities of clients' certificates, and of the other servers' in a cluster.
	CA string `json:"ca,omitempty"`
	// Verify refuses clients without a certificate of CA.
	Verify bool `json:"verify,omitempty"`
}

// Cluster says how a server meets the others.
type Cluster struct {
	Name   string   `json:"name"`   // the same on all servers
	Listen string   `json:"listen"` // host and port for the other servers
	Routes []string `json:"routes"` // host and port of the other servers; it may contain this one
}

// SyncInterval is the time between syncs; 0 means that each record is synced before it is
// acknowledged.
type SyncInterval time.Duration

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *SyncInterval) UnmarshalText(text []byte) error {
	if *s = 0; string(text) == "always" {
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if err != nil || d <= 0 {
		return fmt.Errorf(`sync: %q is neither "always" nor a duration such as "10s"`, text)
	}
	*s = SyncInterval(d)
	return nil
}

// MarshalText implements [encoding.TextMarshaler].
func (s SyncInterval) MarshalText() ([]byte, error) {
	if s == 0 {
		return []byte("always"), nil
	}
	return []byte(time.Duration(s).String()), nil
}

// Token is a secret: env:NAME takes it from an environment variable, file:PATH from a file, and
// bcrypt:HASH knows only its hash. Anything else is the secret itself. It has 16 to 72 bytes.
type Token string

// Value returns the secret, or an error for a hash.
func (t Token) Value() (string, error) {
	if strings.HasPrefix(string(t), "bcrypt:") {
		return "", errors.New("must be the secret, not its hash")
	}
	value, err := secretref.Resolve(string(t))
	if err != nil {
		return "", err
	}
	if n := len(value); n < 16 || n > 72 {
		return "", fmt.Errorf("has %d bytes; it needs 16 to 72 random ones", n)
	}
	return value, nil
}

// hash returns the bcrypt hash of the secret.
func (t Token) hash() (string, error) {
	if h, ok := strings.CutPrefix(string(t), "bcrypt:"); ok {
		const letters = "./$0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		if _, err := bcrypt.Cost([]byte(h)); err != nil || len(h) != 60 || strings.Trim(h, letters) != "" {
			return "", errors.New("is no bcrypt hash, such as htpasswd -nB prints")
		}
		return h, nil
	}
	value, err := t.Value()
	if err != nil {
		return "", err
	}
	return hashSecret(value)
}

// hashSecret returns the bcrypt hash of a long random secret, for which the least cost is enough:
// it cannot be guessed anyway.
func hashSecret(value string) (string, error) {
	h, err := bcrypt.GenerateFromPassword([]byte(value), bcrypt.MinCost)
	return string(h), err
}

// ParseConfig parses a configuration file, makes changes, such as those of flags, and checks the
// result. The error names the key that is wrong.
func ParseConfig(data []byte, changes ...func(*Config)) (Config, error) {
	var c Config
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, configError(data, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return c, errors.New("there is something after the configuration's last brace")
	}
	for _, change := range changes {
		change(&c)
	}
	return c, c.Check()
}

// configError adds the line in the file to an error, if it is known.
func configError(data []byte, err error) error {
	var at int64
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		at = syntax.Offset
	} else if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		at, err = wrong.Offset, texts.JSONError("the configuration", err)
	} else {
		return err
	}
	return fmt.Errorf("line %d: %w", 1+bytes.Count(data[:min(at, int64(len(data)))], []byte("\n")), err)
}

// Check returns an error about the first key that is wrong, or nil.
func (c *Config) Check() error {
	switch {
	case c.Store == "":
		return errors.New("store: must not be empty")
	case c.MaxStore < 0:
		return errors.New("max_store: must not be negative")
	case c.Shards < 0 || c.Shards > 1024:
		return fmt.Errorf("shards: %d is not between 0 and 1024", c.Shards)
	}
	if _, err := c.Operator.Value(); err != nil {
		return fmt.Errorf("operator: %w", err)
	}
	if c.Listen != "" {
		if _, _, err := hostPort(c.Listen); err != nil {
			return fmt.Errorf("listen: %w", err)
		}
	}
	checks := []struct {
		key string
		err error
	}{
		{"tenants", c.checkTenants()}, {"slots", c.checkSlots()}, {"replicas", c.checkReplicas()},
		{"cluster", c.checkCluster()}, {"tls", c.checkTLS()},
	}
	for _, check := range checks {
		if check.err != nil {
			return fmt.Errorf("%s: %w", check.key, check.err)
		}
	}
	return nil
}

// checkTenants checks names, tokens and limits.
func (c *Config) checkTenants() error {
	if len(c.Tenants) == 0 {
		return errors.New(`name at least one, such as [{"name":"default"}]`)
	}
	seen := map[string]bool{}
	for i, t := range c.Tenants {
		err := journal.CheckID(t.Name)
		switch {
		case err != nil:
		case seen[t.Name]:
			err = errors.New("is there twice")
		case t.Weight < 0 || t.Limit < 0 || t.MaxQueued < 0 || t.Budget.Tokens < 0 || t.Budget.USD < 0 ||
			t.Budget.Time < 0 || t.MaxStore < 0:
			err = errors.New("weight, limit, max_queued, budget and max_store must not be negative")
		case t.Budget.Time > 0: // nobody would add it up
			err = errors.New("budget: time is a limit of single tasks; a tenant's budget has tokens and usd")
		case t.Token != "":
			if _, err = t.Token.hash(); err != nil {
				err = fmt.Errorf("token: %w", err)
			}
		}
		if err != nil {
			return fmt.Errorf("[%d] %q: %w", i, t.Name, err)
		}
		seen[t.Name] = true
	}
	return nil
}

// checkSlots checks the limits of model calls.
func (c *Config) checkSlots() error {
	seen := map[[2]string]bool{}
	for i, s := range c.Slots {
		key := [2]string{s.Provider, s.Model}
		switch {
		case s.Provider == "":
			return fmt.Errorf("[%d].provider: must not be empty", i)
		case s.Slots < 0 || s.TokensPerMinute < 0:
			return fmt.Errorf("[%d]: slots and tokens_per_minute must not be negative", i)
		case seen[key]:
			return fmt.Errorf("[%d]: %s %s is there twice", i, s.Provider, s.Model)
		}
		seen[key] = true
	}
	return nil
}

// checkReplicas checks the number of replicas.
func (c *Config) checkReplicas() error {
	switch {
	case !slices.Contains([]int{0, 1, 3, 5}, c.Replicas):
		return fmt.Errorf("%d is none of 1, 3 and 5", c.Replicas)
	case c.Replicas > 1 && c.Cluster == nil:
		return fmt.Errorf("%d replicas need a cluster", c.Replicas)
	}
	return nil
}

// checkCluster checks what a member of a cluster needs.
func (c *Config) checkCluster() error {
	if c.Cluster == nil {
		return nil
	}
	if c.Name == "" || c.Cluster.Name == "" {
		return errors.New("the server's name and the cluster's name must not be empty")
	}
	if _, _, err := hostPort(c.Cluster.Listen); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	for i, r := range c.Cluster.Routes {
		if _, _, err := hostPort(r); err != nil {
			return fmt.Errorf("routes[%d]: %w", i, err)
		}
	}
	return nil
}

// checkTLS checks that the files are named. Whether they are good is found when they are loaded.
func (c *Config) checkTLS() error {
	switch {
	case c.TLS == nil:
	case c.TLS.Cert == "" || c.TLS.Key == "":
		return errors.New("cert and key must both be set")
	case c.TLS.CA == "" && (c.TLS.Verify || c.Cluster != nil):
		return errors.New("ca must be set for verify, and in a cluster")
	}
	return nil
}
