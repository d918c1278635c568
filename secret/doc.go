// Package secret masks secrets in text: values that a program has registered, and keys in
// well-known formats.
//
// A [Masker] replaces each secret by its name, as in [secret GITHUB_TOKEN]. It finds a registered
// value as it is, in base64 (also inside a longer encoded text), in hexadecimal, with any of its
// characters percent-encoded, and escaped once or twice as in JSON strings. It finds the formats
// that [Formats] lists as they are. Of a value of more than 96 bytes, it also finds a part that
// begins with the first 96.
//
//	m := secret.New()
//	if err := m.Register("GITHUB_TOKEN", os.Getenv("GITHUB_TOKEN")); err != nil { ... }
//	fmt.Println(m.String(output))
//
// For text that arrives in pieces there are [Stream] and [Writer]. They hold text back only while
// it may be the beginning of a secret. Package masked puts a Masker into the doors of a session.
//
// Masking prevents accidents. A program, or a model that runs commands, can change a secret in ways
// that no masker recognizes.
package secret
