package cloud

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/attractor-go/attractor/llm/providers"
)

// scope is the scope of the tokens: everything in Google Cloud that their owner may use.
const scope = "https://www.googleapis.com/auth/cloud-platform"

// Google obtains a token by Google's application default credentials: those of
// GOOGLE_APPLICATION_CREDENTIALS, of gcloud auth application-default login, or of the machine. The
// project is GOOGLE_CLOUD_PROJECT or that of the credentials, the location GOOGLE_CLOUD_LOCATION.
// With a base URL of its own the provider needs neither.
func Google(ctx context.Context, k providers.Kind, c providers.Config) (providers.Access, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	found, err := lookUp(ctx)
	if err != nil {
		return providers.Access{}, err
	}
	if c.BaseURL == "" {
		project := cmp.Or(os.Getenv("GOOGLE_CLOUD_PROJECT"), found.project, found.file.Quota)
		if c.BaseURL, err = vertexURL(k, project); err != nil {
			return providers.Access{}, err
		}
	}
	c.APIKey = found.token.AccessToken
	if quota := cmp.Or(os.Getenv("GOOGLE_CLOUD_QUOTA_PROJECT"), found.file.Quota); quota != "" {
		c.HTTPClient = authorizing(c.HTTPClient, func(req *http.Request) error {
			req.Header.Set("X-Goog-User-Project", quota)
			return nil
		})
	}
	access := providers.Access{Config: c, Secrets: []string{found.file.PrivateKey, found.file.RefreshToken}}
	if !found.token.Expiry.IsZero() {
		access.Expires = found.token.Expiry.Add(-early)
	}
	return access, nil
}

// adc holds what application default credentials have given.
type adc struct {
	token   *oauth2.Token
	project string // empty if they name none
	file    struct {
		Quota        string `json:"quota_project_id"`
		PrivateKey   string `json:"private_key"`
		RefreshToken string `json:"refresh_token"`
	}
	err error
}

// lookUp finds the credentials and gets a token. The library asks the metadata server without a
// context; when ctx ends first, its answer is dropped.
func lookUp(ctx context.Context) (adc, error) {
	found := make(chan adc, 1)
	go func() {
		var a adc
		a.err = a.find(ctx)
		found <- a
	}()
	select {
	case a := <-found:
		return a, a.err
	case <-ctx.Done():
		return adc{}, fmt.Errorf("Google Cloud has not answered with a token: %w", ctx.Err())
	}
}

// find completes the credentials.
func (a *adc) find(ctx context.Context) error {
	credentials, err := google.FindDefaultCredentials(ctx, scope)
	if err != nil {
		return fmt.Errorf("no Google credentials found: run gcloud auth application-default login, "+
			"or set GOOGLE_APPLICATION_CREDENTIALS to a file of credentials: %w", err)
	}
	a.project = credentials.ProjectID
	if len(credentials.JSON) > 0 {
		if err := json.Unmarshal(credentials.JSON, &a.file); err != nil {
			return fmt.Errorf("the file of Google credentials cannot be read: %w", err)
		}
	}
	if a.token, err = credentials.TokenSource.Token(); err != nil {
		return fmt.Errorf("the Google credentials give no token: run gcloud auth application-default login "+
			"again: %w", err)
	}
	return nil
}

// vertexURL returns the base URL of a project, in the location that the environment names.
func vertexURL(k providers.Kind, project string) (string, error) {
	location := os.Getenv("GOOGLE_CLOUD_LOCATION")
	switch {
	case project == "":
		return "", errors.New("no Google Cloud project found: set GOOGLE_CLOUD_PROJECT")
	case location == "":
		return "", errors.New("no Google Cloud location found: set GOOGLE_CLOUD_LOCATION, such as europe-west1 " +
			"or global")
	}
	base, err := url.Parse(k.URL(os.Getenv))
	if err != nil {
		return "", err
	}
	if location != "global" { // which has the host without a prefix
		base.Host = location + "-" + base.Host
	}
	return base.JoinPath("projects", project, "locations", location).String(), nil
}
