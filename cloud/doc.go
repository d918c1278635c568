// Package cloud lets sessions use the credentials of clouds in place of keys: those of AWS sign the
// requests to Amazon Bedrock, and Google's application default credentials give the tokens of
// Vertex AI.
//
// Each is looked up where the cloud's own tools look it up: in the variables of this process, in
// files of its user, and on servers of the cloud. That happens before the first request to the
// provider, never for another one, and again when the credentials expire or are refused. A key that
// the provider has in a variable, or by a key command, counts in their place.
//
//	session, err := attractor.Open(ctx, attractor.Config{
//		Model:       "amazon-bedrock/anthropic.claude-sonnet-5-5",
//		Credentials: cloud.Credentials(),
//	})
//
// The command attractor-cloud is attractor with them. It is a module of its own, so that nobody
// else's program links an SDK of a cloud.
package cloud
