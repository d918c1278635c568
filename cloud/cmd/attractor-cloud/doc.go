// Command attractor-cloud is attractor with the credentials of clouds: the provider amazon-bedrock
// works with what signs requests in AWS's own tools, and google-vertex with Google's application
// default credentials. docs/providers.md shows both.
package main
