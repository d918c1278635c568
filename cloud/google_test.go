package cloud

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/providers"
)

// googleServer is Google's server of tokens, and the metadata server of a machine. Each answer has
// the next token.
type googleServer struct {
	url    string
	key    *rsa.PrivateKey // of the service account
	given  atomic.Int64
	expire time.Duration // from now
}

func newGoogleServer(t *testing.T, expire time.Duration) *googleServer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s := &googleServer{key: key, expire: expire}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *googleServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Metadata-Flavor", "Google")
	switch path, metadata := r.URL.Path, r.Header.Get("Metadata-Flavor") == "Google"; {
	case path == "/computeMetadata/v1/project/project-id" && metadata:
		fmt.Fprint(w, "of-the-machine")
	case path == "/computeMetadata/v1/instance/service-accounts/default/token" && metadata &&
		r.URL.Query().Get("scopes") == scope,
		path == "/token" && r.FormValue("grant_type") == "refresh_token" &&
			r.FormValue("refresh_token") == "of-the-login" && r.FormValue("client_secret") == "of-gcloud",
		path == "/token" && r.FormValue("grant_type") == "urn:ietf:params:oauth:grant-type:jwt-bearer" &&
			s.signed(r.FormValue("assertion")):
		fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"Bearer","expires_in":%d}`, s.given.Add(1),
			int(s.expire.Seconds()))
	default:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"invalid_grant"}`)
	}
}

// signed reports whether a service account has signed an assertion for the scope.
func (s *googleServer) signed(assertion string) bool {
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 {
		return false
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	signature, err2 := base64.RawURLEncoding.DecodeString(parts[2])
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	return errors.Join(err, err2, rsa.VerifyPKCS1v15(&s.key.PublicKey, crypto.SHA256, sum[:], signature)) == nil &&
		strings.Contains(string(claims), scope) && strings.Contains(string(claims), "me@of-the-account.example")
}

// serviceAccount returns the file of a service account.
func (s *googleServer) serviceAccount(t *testing.T) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(s.key)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(map[string]string{"type": "service_account", "project_id": "of-the-account",
		"client_email": "me@of-the-account.example", "token_uri": s.url + "/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// login returns the file that gcloud auth application-default login writes.
func (s *googleServer) login() string {
	return `{"type":"authorized_user","client_id":"gcloud","client_secret":"of-gcloud","refresh_token":"of-the-login",
		"quota_project_id":"who-pays","token_uri":"` + s.url + `/token"}`
}

const adcFile = ".config/gcloud/application_default_credentials.json"

// Tokens of each kind of application default credentials reach Vertex, at the URL of the project
// and the location.
func TestV1_TokensOfGoogle(t *testing.T) {
	google := newGoogleServer(t, time.Hour)
	for name, c := range map[string]struct {
		files     map[string]string
		vars      map[string]string
		url       string // without the model
		quota     string
		alsoHides string
	}{
		"service account": {files: map[string]string{"key.json": google.serviceAccount(t)},
			vars: map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": "key.json",
				"GOOGLE_CLOUD_LOCATION": "europe-west1"},
			url:       "europe-west1-aiplatform.googleapis.com/v1/projects/of-the-account/locations/europe-west1",
			alsoHides: "PRIVATE KEY"},
		"login": {files: map[string]string{adcFile: google.login()},
			vars: map[string]string{"GOOGLE_CLOUD_PROJECT": "mine", "GOOGLE_CLOUD_LOCATION": "global"},
			url:  "aiplatform.googleapis.com/v1/projects/mine/locations/global", quota: "who-pays",
			alsoHides: "of-the-login"},
		"login without a project": {files: map[string]string{adcFile: google.login()},
			vars:  map[string]string{"GOOGLE_CLOUD_LOCATION": "us-central1"},
			url:   "us-central1-aiplatform.googleapis.com/v1/projects/who-pays/locations/us-central1",
			quota: "who-pays"},
		"machine": {vars: map[string]string{"GCE_METADATA_HOST": strings.TrimPrefix(google.url, "http://"),
			"GOOGLE_CLOUD_LOCATION": "europe-west4"},
			url: "europe-west4-aiplatform.googleapis.com/v1/projects/of-the-machine/locations/europe-west4"},
	} {
		t.Run(name, func(t *testing.T) {
			home := surroundings(t, c.vars)
			for name, text := range c.files {
				write(t, filepath.Join(home, name), text)
			}
			t.Chdir(home)
			server := &modelServer{allow: func(r *http.Request, _ []byte) (int, string) {
				if quota := r.Header.Get("X-Goog-User-Project"); quota != c.quota {
					t.Errorf("%q pays, want %q", quota, c.quota)
				}
				if got, want := r.Header.Get("Authorization"),
					fmt.Sprintf("Bearer token-%d", google.given.Load()); got != want {
					t.Errorf("the header is %q, want %q", got, want)
				}
				return 0, ""
			}}
			asked, newest := 0, providers.Access{}
			p := provider(t, "google-vertex", server.client(t), counted(Google, &asked, &newest))
			if err := errors.Join(ask(t, p, "gemini-4-argon"), ask(t, p, "gemini-4-argon")); err != nil || asked != 1 {
				t.Errorf("%v, asked %d times", err, asked)
			}
			want := c.url + "/publishers/google/models/gemini-4-argon:streamGenerateContent"
			if len(server.urls) == 0 || server.urls[0] != want {
				t.Errorf("the requests went to %q, want %q", server.urls, want)
			}
			if !slices.ContainsFunc(newest.Secrets, func(s string) bool { return strings.Contains(s, c.alsoHides) }) {
				t.Errorf("the secrets are %q", newest.Secrets)
			}
		})
	}
}

// Tokens are renewed when they expire, and when Google refuses them.
func TestV1_RenewedTokens(t *testing.T) {
	for name, c := range map[string]struct {
		expire  time.Duration
		refused string
		asked   int // after two requests
	}{
		"good": {expire: time.Hour, asked: 1}, "about to expire": {expire: early / 2, asked: 2},
		"refused": {expire: time.Hour, refused: "Bearer token-1", asked: 2},
	} {
		t.Run(name, func(t *testing.T) {
			google := newGoogleServer(t, c.expire)
			home := surroundings(t, map[string]string{"GOOGLE_CLOUD_LOCATION": "global"})
			write(t, filepath.Join(home, adcFile), google.login())
			server := &modelServer{allow: func(r *http.Request, _ []byte) (int, string) {
				if r.Header.Get("Authorization") == c.refused {
					return http.StatusUnauthorized,
						`{"error":{"code":401,"status":"UNAUTHENTICATED","message":"expired"}}`
				}
				return 0, ""
			}}
			asked, newest := 0, providers.Access{}
			p := provider(t, "google-vertex", server.client(t), counted(Google, &asked, &newest))
			if err := errors.Join(ask(t, p, "gemini-4-argon"), ask(t, p, "gemini-4-argon")); err != nil ||
				asked != c.asked {
				t.Errorf("%v, asked %d times, want %d", err, asked, c.asked)
			}
		})
	}
}

// What is missing is said before anything is sent, with what to do.
func TestV1_NoGoogleCredentials(t *testing.T) {
	google := newGoogleServer(t, time.Hour)
	for want, c := range map[string]struct {
		vars map[string]string
		file string
	}{
		"no Google credentials found: run gcloud auth application-default login, or set " +
			"GOOGLE_APPLICATION_CREDENTIALS": {
			vars: map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": "/none"}},
		"give no token: run gcloud auth application-default login again": {
			file: strings.Replace(google.login(), "of-the-login", "revoked", 1)},
		"no Google Cloud location found: set GOOGLE_CLOUD_LOCATION, such as": {file: google.login()},
		"no Google Cloud project found: set GOOGLE_CLOUD_PROJECT": {
			file: strings.Replace(google.login(), "quota_project_id", "no_project_id", 1)},
	} {
		home := surroundings(t, c.vars)
		if c.file != "" {
			write(t, filepath.Join(home, adcFile), c.file)
		}
		server := &modelServer{}
		err := ask(t, provider(t, "google-vertex", server.client(t), Google), "gemini-4-argon")
		e, _ := errors.AsType[*llm.Error](err)
		if e == nil || e.Kind != llm.ErrAuthentication || !e.Unsent || !strings.Contains(e.Message, want) ||
			len(server.urls) > 0 {
			t.Errorf("%q: %v, requests to %q", want, err, server.urls)
		}
		t.Log(err)
	}
}
