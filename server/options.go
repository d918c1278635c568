package server

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/secret"
)

// Options configure a Server.
type Options struct {
	// Config is the configuration of every session. It needs a Store. Its Mode and Budget are for
	// sessions whose clients choose none. The server sets Dir, ID, Resume, Fork, Continue, Ask,
	// Inbox and OnEvent.
	Config attractor.Config
	// State is the directory of the server's own files. One server at a time uses it.
	State string
	// Tokens are the tokens of clients; at least one.
	Tokens []Token
	// Roots are the directories in which sessions may work.
	Roots []string
	// MaxMode is the mode beyond which no session goes. Empty means permit.ModeAcceptEdits.
	MaxMode permit.Mode
	// Sandbox is the level by which the commands of each session are confined at least.
	Sandbox sandbox.Level
	// Hosts are names, without a port, by which clients reach the server besides those of this
	// machine. With TLS the server speaks https; BehindTLS says that a proxy in front of it does.
	Hosts     []string
	TLS       *tls.Config
	BehindTLS bool
	// Limits bound what one token may take.
	Limits Limits
	// Grace is how long running inputs may go on when the server ends. Zero means 30 s.
	Grace time.Duration
	// KeepRules stores rules that allow calls in later sessions, and returns the name of the file.
	// It is called when an owner asks for it. Nil stores none.
	KeepRules func(ctx context.Context, project string, rules []string) (file string, err error)
	// Masker masks secrets in errors and in the log, beside those of the Config and the Tokens.
	// What a session shows is masked by its own secrets. Nil masks no others.
	Masker *secret.Masker
	// Logger gets what the operator should know. Nil logs nothing.
	Logger *slog.Logger
	// Facts has the prices of models, for the page. Nil has none.
	Facts llm.Lookup
	// Version is that of the program.
	Version string
}

// Limits bound what one token may use. Zero means the default.
type Limits struct {
	Sessions int   // that are open at a time; 32
	Requests int   // in a minute; 600
	Watchers int   // streams of events that are open at a time; 64
	Body     int64 // bytes of a request; 32 MiB, which is also the most
}

// orDefault returns the limits with their defaults.
func (l Limits) orDefault() Limits {
	l.Sessions = cmp.Or(max(l.Sessions, 0), 32)
	l.Requests = cmp.Or(max(l.Requests, 0), 600)
	l.Watchers = cmp.Or(max(l.Watchers, 0), 64)
	if l.Body <= 0 || l.Body > maxLine {
		l.Body = maxLine
	}
	return l
}

// Token authenticates a client.
type Token struct {
	Name  string // for people and journals
	Token string
	// Owner says that the token sees all sessions, keeps rules, and reads the metrics.
	Owner bool
}

// minToken is the least length of a token in a file: that of 128 random bits in hexadecimal digits.
const minToken = 32

// ReadTokens reads tokens from a file that only its user can read. Each line has a name, a token of
// at least 32 characters and, for the owner's, the word owner; empty lines and those that begin
// with # are skipped.
func ReadTokens(name string) (tokens []Token, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("others can read %s: run chmod 600 on it", name)
	}
	lines := bufio.NewScanner(io.LimitReader(f, 1<<20))
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) < 2 || len(words) > 3 || len(words) == 3 && words[2] != "owner" {
			return nil, fmt.Errorf("%s, line %d: a line has a name, a token and, if it is the owner's, the "+
				"word owner", name, n)
		}
		if len(words[1]) < minToken {
			return nil, fmt.Errorf("%s, line %d: the token of %s has fewer than %d characters; openssl rand -hex 32 "+
				"makes one", name, n, words[0], minToken)
		}
		tokens = append(tokens, Token{words[0], words[1], len(words) == 3})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return tokens, checkTokens(tokens)
}

// checkTokens returns an error unless there are tokens, with valid names, that can be told apart.
func checkTokens(tokens []Token) error {
	if len(tokens) == 0 {
		return errors.New("there is no token, so nobody could use the server")
	}
	names, values := map[string]bool{}, map[[32]byte]bool{}
	valid := regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	for _, t := range tokens {
		sum := sha256.Sum256([]byte(t.Token))
		switch {
		case !valid.MatchString(t.Name):
			return fmt.Errorf("the name of a token has 1 to 64 letters, digits, . _ and -, not %.80q", t.Name)
		case t.Token == "":
			return fmt.Errorf("the token of %s is empty", t.Name)
		case names[t.Name]:
			return fmt.Errorf("there are two tokens with the name %s", t.Name)
		case values[sum]:
			return fmt.Errorf("%s has the token of another name", t.Name)
		}
		names[t.Name], values[sum] = true, true
	}
	return nil
}

// check completes the options, or returns what is wrong with them.
func (o *Options) check() error {
	if o.Config.Store == nil {
		return errors.New("the configuration has no Store, in which the sessions are kept")
	}
	if o.State == "" {
		return errors.New("there is no State directory")
	}
	if err := checkTokens(o.Tokens); err != nil {
		return err
	}
	if len(o.Roots) == 0 {
		return errors.New("there are no Roots in which sessions could work")
	}
	o.Roots = slices.Clone(o.Roots)
	for i, root := range o.Roots {
		real, err := filepath.Abs(root)
		if err == nil {
			real, err = filepath.EvalSymlinks(real)
		}
		if err != nil {
			return fmt.Errorf("the root %s: %w", root, err)
		}
		if info, err := os.Stat(real); err != nil || !info.IsDir() {
			return fmt.Errorf("the root %s is no directory", root)
		}
		o.Roots[i] = real
	}
	o.MaxMode = cmp.Or(o.MaxMode, permit.ModeAcceptEdits)
	o.Config.Mode = cmp.Or(o.Config.Mode, permit.ModeAsk)
	o.Sandbox = cmp.Or(o.Sandbox, sandbox.Off)
	o.Grace = cmp.Or(o.Grace, 30*time.Second)
	if beyondMode(o.Config.Mode, o.MaxMode) {
		return fmt.Errorf("sessions would begin in the mode %s, which is beyond the greatest one, %s (MaxMode, "+
			"--max-mode)", o.Config.Mode, o.MaxMode)
	}
	if o.Masker == nil {
		o.Masker = new(secret.Masker)
	}
	secrets := map[string]string{}
	maps.Copy(secrets, o.Config.Secrets)
	for _, t := range o.Tokens {
		secrets["token."+t.Name] = t.Token
	}
	o.Config.Secrets = secrets
	for name, value := range secrets {
		_ = o.Masker.Register(name, value) // fails for secrets that are too short to be masked
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Logger = slog.New(o.Masker.Log(o.Logger.Handler()))
	o.Limits = o.Limits.orDefault()
	return nil
}

// chosen returns the number that the configuration sets for all sessions, or 0.
func (o *Options) chosen(key string) (n int) {
	for _, s := range o.Config.Settings {
		if s.Key == key && len(s.Values) == 1 {
			n, _ = strconv.Atoi(s.Values[0]) // opening a session refuses other texts
		}
	}
	return n
}

// capped returns k within the limits that the server has now: they may have been higher when the
// session began.
func (o *Options) capped(k kept) kept {
	if beyondMode(k.Mode, o.MaxMode) {
		k.Mode = o.MaxMode
	}
	if lessConfined(k.Sandbox, o.Sandbox) {
		k.Sandbox = o.Sandbox
	}
	k.BudgetUSD = least(k.BudgetUSD, o.Config.Budget.USD)
	k.BudgetTokens = least(k.BudgetTokens, o.Config.Budget.Tokens)
	return k
}

// beyondMode reports whether a mode allows more than another one.
func beyondMode(m, most permit.Mode) bool {
	order := []permit.Mode{permit.ModeReadOnly, permit.ModePlan, permit.ModeAsk, permit.ModeAcceptEdits,
		permit.ModeFull}
	return slices.Index(order, m) > slices.Index(order, most)
}

// lessConfined reports whether a level confines commands less than another one.
func lessConfined(l, least sandbox.Level) bool {
	order := []sandbox.Level{sandbox.Off, sandbox.WorkspaceWeak, sandbox.Workspace, sandbox.ReadOnly}
	return slices.Index(order, l) < slices.Index(order, least)
}
