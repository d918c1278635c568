package cloud

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"

	"github.com/attractor-go/attractor/llm/providers"
)

// AWS obtains the credentials of the default chain of AWS: variables, profiles with AWS IAM
// Identity Center (SSO) and roles, web identity, and the servers of containers and machines. They
// sign each request by Signature Version 4. The region is AWS_REGION or that of the profile.
func AWS(ctx context.Context, k providers.Kind, c providers.Config) (providers.Access, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	chain, err := config.LoadDefaultConfig(ctx, config.WithLogger(logging.Nop{})) // a session may have the terminal
	if err != nil {
		return providers.Access{}, fmt.Errorf("the configuration of AWS cannot be used: correct ~/.aws/config, "+
			"or set AWS_PROFILE to a profile that it has: %w", err)
	}
	if chain.Region == "" {
		return providers.Access{}, errors.New(
			"no AWS region found: set AWS_REGION, or a region in the profile of ~/.aws/config")
	}
	credentials, err := chain.Credentials.Retrieve(ctx)
	if err != nil {
		return providers.Access{}, fmt.Errorf("no AWS credentials found: run aws sso login, or set AWS_PROFILE, "+
			"or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: %w", err)
	}
	if c.BaseURL == "" {
		c.BaseURL = k.URL(func(name string) string {
			if name == "AWS_REGION" {
				return chain.Region
			}
			return ""
		})
	}
	c.HTTPClient = authorizing(c.HTTPClient, func(req *http.Request) error {
		return sign(req, credentials, chain.Region)
	})
	access := providers.Access{Config: c, Secrets: []string{credentials.SecretAccessKey, credentials.SessionToken}}
	if credentials.CanExpire {
		access.Expires = credentials.Expires.Add(-early)
	}
	return access, nil
}

// sign adds the headers of a signature to a request.
func sign(req *http.Request, credentials aws.Credentials, region string) error {
	hash := sha256.New()
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return err
		}
		if _, err := io.Copy(hash, body); err != nil {
			return errors.Join(err, body.Close())
		}
		if err := body.Close(); err != nil {
			return err
		}
	}
	service := "bedrock-mantle" // by its documents; the older endpoint is another service
	if strings.Contains(req.URL.Host, "bedrock-runtime") {
		service = "bedrock"
	}
	return v4.NewSigner().SignHTTP(req.Context(), credentials, req, hex.EncodeToString(hash.Sum(nil)), service, region,
		time.Now())
}
