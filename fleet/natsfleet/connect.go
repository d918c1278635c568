package natsfleet

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// OpenOptions say how to connect to servers.
type OpenOptions struct {
	// Token is the secret of the operator, or of the tenant.
	Token string
	// CA is the file, in PEM, of the authorities of the servers' certificates. Empty means those
	// that this machine trusts. Cert and Key are the files of a certificate for servers that want
	// one. With any of them the connection is always encrypted.
	CA, Cert, Key string
	// Name tells the servers, in their logs, who is connected.
	Name string
	// OnConnection, if set, is called each time that the connection was lost, and when it is back.
	// It is called on a goroutine of its own, one call at a time.
	OnConnection func(lost bool)
}

const (
	connectTime  = 5 * time.Second // bounds the attempt to connect to one server
	connectTries = 3
	reconnectGap = 250 * time.Millisecond // is between two attempts to reconnect
)

// target is what to connect to: servers by their URL, or a server in this process.
type target struct {
	url    string
	server *server.Server
	o      OpenOptions
	inbox  string // the prefix of inboxes; empty means that of the NATS client
}

// connect connects as a user. It fails at once; later it reconnects for as long as it is open.
func (t target) connect(ctx context.Context, user, password string) (*nats.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o := []nats.Option{
		nats.Name(t.o.Name), nats.UserInfo(user, password), nats.Timeout(connectTime), nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectGap), nats.ReconnectJitter(reconnectGap, reconnectGap),
		nats.PingInterval(attemptTime * 5), nats.MaxPingsOutstanding(2),
		// Without a handler the client prints errors to stderr. Callers get them from their calls.
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
	if t.server != nil {
		o = append(o, nats.InProcessServer(t.server))
	}
	if t.inbox != "" {
		o = append(o, nats.CustomInboxPrefix(t.inbox))
	}
	if changed := t.o.OnConnection; changed != nil {
		o = append(o, nats.ReconnectHandler(func(*nats.Conn) { changed(false) }),
			nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
				if err != nil { // otherwise this side has closed it
					changed(true)
				}
			}))
	}
	if t.o.CA != "" {
		o = append(o, nats.RootCAs(t.o.CA))
	}
	if t.o.Cert != "" || t.o.Key != "" {
		o = append(o, nats.ClientCert(t.o.Cert, t.o.Key))
	}
	for try := 1; ; try++ {
		nc, err := nats.Connect(t.url, o...)
		if err == nil {
			return nc, nil
		}
		// A server that is slow may ask whether the client lives before it answers the same
		// question, which the client takes for a wrong answer.
		explained, known := t.explain(user, err)
		if known || try == connectTries || ctx.Err() != nil {
			return nil, explained
		}
	}
}

// explain adds to the error of a connection what to do about it, and reports whether its cause is
// known.
func (t target) explain(user string, err error) (explained error, known bool) {
	var untrusted *tls.CertificateVerificationError
	where := "the server of this process"
	if t.server == nil {
		where = t.url
	}
	switch {
	case errors.Is(err, nats.ErrAuthorization) && user == operatorUser:
		return fmt.Errorf("%s refuses the token; this needs the operator's, not a tenant's: %w", where, err), true
	case errors.Is(err, nats.ErrAuthorization):
		return fmt.Errorf("%s refuses the token, or does not know the tenant; this needs the tenant's token, not the "+
			"operator's: %w", where, err), true
	case errors.Is(err, nats.ErrSecureConnWanted), errors.Is(err, nats.ErrSecureConnRequired):
		return fmt.Errorf("%s and this side do not agree on TLS; use tls:// only with a server that has a "+
			"certificate: %w", where, err), true
	case errors.As(err, &untrusted):
		return fmt.Errorf("the certificate of %s is not trusted here; name its authority: %w", where, err), true
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, syscall.ECONNREFUSED),
		errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no server answers at %s; is it running, and is the address right? %w", where, err), true
	}
	return fmt.Errorf("cannot connect to %s: %w", where, err), false
}

// operatorUser is the name of the operator's user.
const operatorUser = "operator"

// workerUser names the user of workers in a tenant's account.
func workerUser(tenant string) string { return "worker." + tenant }

// clientUser names the user that a tenant's clients have.
func clientUser(tenant string) string { return "client." + tenant }

// gatewayUser names the user of the gateway in the account of a tenant's clients.
func gatewayUser(tenant string) string { return "gateway." + tenant }

// gatewayPassword derives the password of that user.
func gatewayPassword(operator, tenant string) string { return derive(operator, "gateway "+tenant) }

// workerPassword derives the password of the workers in a tenant's account. So the operator's token
// opens every tenant, and the servers need not agree on anything else.
func workerPassword(operator, tenant string) string { return derive(operator, "worker "+tenant) }

// derive makes a secret for one purpose from another secret.
func derive(secret, purpose string) string {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte("attractor fleet " + purpose)) // a hash never fails
	return hex.EncodeToString(h.Sum(nil))
}
