package secret_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/encoded"
	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/secret"
)

// realKeys lists the files of Go's sources that have a private key or the credentials of a header.
var realKeys = []string{"cmd/go/internal/auth/userauth_test.go", "cmd/go/testdata/script/goauth_userauth.txt",
	"crypto/tls/example_test.go",
	"crypto/tls/testdata/example-key.pem", "crypto/x509/platform_root_key.pem"}

// TestL7_NoOrdinaryWords checks that nothing in Go's sources is taken for a secret, except for the
// keys in them.
func TestL7_NoOrdinaryWords(t *testing.T) {
	m := withValues(t, seed.New(t), 100)
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "src")
	files, changed := 0, 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		text := string(data)
		got := m.String(text)
		for _, name := range realKeys {
			if strings.HasSuffix(filepath.ToSlash(path), name) {
				return nil
			}
		}
		if got != text {
			changed++
			at := strings.Index(got, "[secret ")
			t.Errorf("%s: %.100q", path, got[max(0, at-40):])
		}
		return nil
	})
	if err != nil {
		t.Skip("Go's sources are not here: ", err)
	}
	t.Logf("%d files, %d changes", files, changed)
}

func TestL7_OrdinaryTexts(t *testing.T) {
	dice := seed.New(t)
	m, image := withValues(t, dice, 100), make([]byte, 100_000)
	for i := range image {
		image[i] = byte(dice.Uint32())
	}
	for _, text := range []string{
		"commit 9fceb02d0ae598e95dc970b74767f19372d61af8\n",
		"id 123e4567-e89b-12d3-a456-426614174000",
		"golang.org/x/sys v0.30.0 h1:QjkSwP/36a20jFYWkSue1YwXzLmsV5Gfq7Eiy72C1uc=\n",
		`"integrity": "sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg=="`,
		"data:image/png;base64," + base64.StdEncoding.EncodeToString(image),
		// seven megabytes of it have a short head, such as hf_, and enough letters behind it
		base64.URLEncoding.EncodeToString(image[:1000]),
		strings.Repeat("function t(e,n){return e&&n||this.task-1}var sk=disk-kin,eyJ=1;", 100),
		"http://user:password@example.com/ ftp://anonymous:guest@host " +
			"postgres://postgres:postgres@localhost:5432/db?sslmode=disable",
		"https://github.com/a/b@v1.2.3 git@github.com:x/y.git ssh://git@host:2222/repo",
		"Authorization: Bearer <token> and Authorization: Bearer $TOKEN, Authorization: Basic QQ==",
		"-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n",
		"-----BEGIN PUBLIC KEY-----\n" + strings.Repeat("A", 64) + "\n-----END PUBLIC KEY-----",
		"sk-ant-... sk-proj-your-key-goes-here-please-and-thank-you AKIAIOSFODNN7EXAMPLE ghp_xxx " +
			"npm_config_registry_of_the_whole_company_here hf_hub",
		"task-proj-0123456789abcdef0123456789abcdef0123456789abcdef disk-sk_livered",
		strings.Repeat("-", 10_000), strings.Repeat("=", 10_000), strings.Repeat("://", 3_000),
		strings.Repeat("\\", 3_000), strings.Repeat("%", 3_000),
	} {
		if got := m.String(text); got != text {
			at := strings.Index(got, "[secret ")
			t.Errorf("%.60q became %.100q", text, got[max(0, at-40):])
		}
	}
}

// withValues returns a masker with so many random values of 8 to 64 bytes.
func withValues(t testing.TB, dice *rand.Rand, n int) *secret.Masker {
	t.Helper()
	m := secret.New()
	var random [64]byte
	for i := range n {
		for j := range random {
			random[j] = byte(dice.Uint32())
		}
		if err := m.Register(fmt.Sprintf("V%d", i),
			base64.RawURLEncoding.EncodeToString(random[:])[:8+i%57]); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// A private key counts as one whatever a tool puts in front of its lines or behind them.
func TestL7_KeyInLines(t *testing.T) {
	key := []string{"-----BEGIN PGP PRIVATE KEY BLOCK-----", "Version: GnuPG v1.4.10 (GNU/Linux)", ""}
	for range 12 {
		key = append(key, strings.Repeat("Ab1Cd2Ef3Gh4+/56", 4))
	}
	key = append(key, "-----END PGP PRIVATE KEY BLOCK-----")
	for _, form := range []string{"%[2]s", "  %[1]d | %[2]s", "     %[1]d\t%[2]s", "my_notes.txt:%[1]d:%[2]s",
		"sch\u00f6n/@a/~b.txt-%[1]d-%[2]s", "> %[2]s", "# %[2]s", " * %[2]s", "+%[2]s", "%[1]d \u2502 %[2]s", "%[2]s$",
		"\t\"%[2]s\\n\" +", "< %[2]s", "^4bc3e2a1 (A. Author 2024-01-01 10:00:00 +0100 %[1]d) %[2]s",
		"app/[id]/(x)/k.pem:%[1]d:%[2]s"} {
		var text strings.Builder
		for i, line := range key {
			fmt.Fprintf(&text, form+"\n", i+1, line)
		}
		if got := secret.New().String(text.String()); strings.Contains(got, "Ab1Cd2Ef") {
			t.Errorf("%q: became\n%s", form, got)
		}
	}
}

// What tools show of a long value that they shorten is masked, too.
func TestL7_ShortenedValue(t *testing.T) {
	dice := seed.New(t)
	random := make([]byte, 1200)
	for i := range random {
		random[i] = byte(dice.Uint32())
	}
	value := base64.StdEncoding.EncodeToString(random)
	m := secret.New()
	if err := m.Register("KEY", value); err != nil {
		t.Fatal(err)
	}
	short, found := encoded.Shorten("key: " + value + "\n")
	if got := m.String(short); !found || strings.Contains(got, value[:20]) {
		t.Errorf("%q became %q", short, got)
	}
}

// TestL7_Formats checks one key of each format in several surroundings.
func TestL7_Formats(t *testing.T) {
	chars := func(n int) string { return strings.Repeat("Ab1Cd2Ef3Gh4", 20)[:n] }
	const pem = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF\n\n" +
		"%s\n-----END RSA PRIVATE KEY-----"
	keys := map[string]string{
		"anthropic-key": "sk-ant-api03-" + chars(95), "openai-key": "sk-proj-" + chars(20) + "_-" + chars(30),
		"openrouter-key": "sk-or-v1-" + chars(64),
		"google-key":     "AIza" + chars(35), "google-oauth-secret": "GOCSPX-" + chars(28),
		"google-oauth-token": "ya29." + chars(60), "groq-key": "gsk_" + chars(52),
		"xai-key": "xai-" + chars(80), "perplexity-key": "pplx-" + chars(48), "replicate-token": "r8_" + chars(37),
		"huggingface-token": "hf_" + chars(34),
		"github-token":      "github_pat_" + chars(22) + "_" + chars(59), "gitlab-token": "glpat-" + chars(20),
		"aws-access-key": "AKIAABCDEFGH234567AB",
		"slack-token":    "xoxb-12345678901-12345678901-" + chars(24),
		"slack-webhook":  "hooks.slack.com/services/T0000/B0000/" + chars(40),
		"stripe-key":     "rk_live_" + chars(24), "npm-token": "npm_" + chars(36),
		"pypi-token": "pypi-AgEIcHlwaS5vcmc" + chars(60), "rubygems-key": "rubygems_" + chars(48),
		"docker-token": "dckr_pat_" + chars(27), "digitalocean-token": "dop_v1_" + chars(64),
		"shopify-token": "shpat_" + chars(32), "grafana-token": "glsa_" + chars(32) + "_0a1b2c3d",
		"vault-token": "hvs." + chars(95), "linear-key": "lin_api_" + chars(40), "supabase-token": "sbp_" + chars(40),
		"age-key": "AGE-SECRET-KEY-1" + chars(58),
		"jwt":     "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0." + chars(43), "private-key": fmt.Sprintf(pem,
			chars(64)+"\n"+chars(64)+"\n"+chars(20)+"=="),
		"authorization": "Bearer " + chars(40), "url-password": "https://user:" + chars(12) + "@host",
	}
	m := secret.New()
	for _, name := range secret.Formats() {
		value, ok := keys[name]
		if !ok {
			t.Errorf("no example of %s", name)
		}
		for _, around := range []string{"%s", "key %s.", "\nK=%s\n", `{"k":"%s"}`, `line\n%s\nnext`,
			"?a=1%%26k%%3D%s&b"} {
			text := fmt.Sprintf(around, value)
			got := m.String(text)
			if strings.Contains(got, chars(12)) || !strings.Contains(got, "[secret "+name+"]") || m.String(got) != got {
				t.Errorf("%q became %q", text, got)
			}
			var out bytes.Buffer
			w := m.Writer(&out)
			for _, c := range []byte(text) {
				if _, err := w.Write([]byte{c}); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Flush(); err != nil || out.String() != got {
				t.Errorf("byte by byte %q became %q, %v", text, out.String(), err)
			}
			for shift := range 16 { // in a long text, which is filtered first
				before, after := strings.Repeat("some words ", 3_000)+strings.Repeat(".", shift),
					strings.Repeat(" other words", 30)
				if long := m.String(before + text + after); long != before+got+after {
					t.Fatalf("in a long text %q became %q", text, long)
				}
			}
		}
	}
}
