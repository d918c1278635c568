package natsfleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/texts"
)

// startTime bounds the start of a server until it listens, which includes the reading of what it
// keeps.
const startTime = 60 * time.Second

// startPause is between two looks at a server that starts.
const startPause = 100 * time.Millisecond

// Server runs a NATS server in this process, with everything that a fleet needs.
type Server struct {
	config Config
	server *server.Server
	token  string // of the operator
	log    serverLog

	own      *natsEngine // of the gateways; nil before the server is ready
	gateways map[string]*gateway
}

// OpenEmbedded starts a server in this process, which listens to nobody else and keeps the fleet in
// a directory, and returns the engine on it. It has one tenant, [fleet.DefaultTenant], with a
// budget. Close ends both.
func OpenEmbedded(ctx context.Context, dir string, budget fleet.Budget) (fleet.Engine, error) {
	s, err := StartServer(ctx, Config{Store: dir, Operator: Token(rand.Text()),
		Tenants: []Tenant{{Tenant: fleet.Tenant{Name: fleet.DefaultTenant, Budget: budget}}}})
	if err != nil {
		return nil, err
	}
	e, err := s.engine(ctx)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	e.close = s.Close
	return e, nil
}

// StartServer starts a server and returns when it can be used. A member of a cluster waits for most
// of the others, until ctx ends. The server runs until Close.
func StartServer(ctx context.Context, c Config) (*Server, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	token, err := c.Operator.Value()
	if err != nil {
		return nil, err
	}
	o, err := c.options(token)
	if err != nil {
		return nil, err
	}
	n, err := server.NewServer(o)
	if err != nil {
		return nil, err
	}
	s := &Server{config: c, server: n, token: token, log: newServerLog(c.Logger)}
	n.SetLoggerV2(s.log, false, false, false)
	n.Start()
	if err := s.ready(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// ready waits until the server has started, and sets up what is missing.
func (s *Server) ready(ctx context.Context) error {
	if err := s.started(ctx); err != nil {
		return fmt.Errorf("the server does not start; is another one running on %q or in %s? %w", s.config.Listen,
			s.config.Store, err)
	}
	for {
		err := s.setUp(ctx)
		if err == nil || s.config.Cluster == nil || ctx.Err() != nil || !mayPass(err) {
			return err
		}
	}
}

// started waits until the server listens. Its error says why the server cannot.
func (s *Server) started(ctx context.Context) error {
	for end := time.Now().Add(startTime); ; {
		ready := s.server.ReadyForConnections(startPause) && s.server.JetStreamEnabled()
		select {
		case text := <-s.log.fatal:
			return errors.New(text)
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		if ready {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("it is not ready after %v", startTime)
		}
	}
}

// setUp writes the registry, makes everything that the spaces need, so that clients and workers
// find it, and opens the gateways.
func (s *Server) setUp(ctx context.Context) error {
	if err := s.register(ctx); err != nil {
		return fmt.Errorf("the registry: %w", err)
	}
	e, err := s.engine(ctx)
	if err != nil {
		return err
	}
	s.own, s.gateways = e, map[string]*gateway{}
	for _, t := range s.config.Tenants {
		g, err := s.openGateway(ctx, e, t.Name)
		if err != nil {
			return errors.Join(err, s.leave())
		}
		s.gateways[t.Name] = g
	}
	return nil
}

// leave ends the gateways and their engine.
func (s *Server) leave() error {
	for _, g := range s.gateways {
		g.close()
	}
	s.gateways = nil
	if s.own == nil {
		return nil
	}
	return s.own.Close()
}

// register writes the registry.
func (s *Server) register(ctx context.Context) error {
	nc, err := inProcess(s.server).connect(ctx, operatorUser, s.token)
	if err != nil {
		return err
	}
	defer nc.Close()
	operator, err := newAccount(nc, fleet.Tenant{})
	if err != nil {
		return err
	}
	r := s.config.registry()
	operator.replicas = r.Replicas
	return writeRegistry(ctx, operator, r)
}

// openGateway opens the gateway of a tenant.
func (s *Server) openGateway(ctx context.Context, e *natsEngine, tenant string) (*gateway, error) {
	space, err := e.Open(ctx, tenant)
	if err != nil {
		return nil, err
	}
	to := inProcess(s.server)
	to.inbox = gatewayInbox
	nc, err := to.connect(ctx, gatewayUser(tenant), gatewayPassword(s.token, tenant))
	if err != nil {
		return nil, err
	}
	g, err := openGateway(ctx, nc, space)
	return g, named("the gateway of "+tenant, err)
}

// Engine returns the engine on this server, as the operator has it. Several may be open at once.
// They do not end with the server: close them before.
func (s *Server) Engine(ctx context.Context) (fleet.Engine, error) { return s.engine(ctx) }

func (s *Server) engine(ctx context.Context) (*natsEngine, error) {
	return openEngine(ctx, inProcess(s.server), s.token)
}

// URL returns the address for workers and clients, or "" if the server does not listen.
func (s *Server) URL() string {
	if s.config.Listen == "" {
		return ""
	}
	return s.server.ClientURL()
}

// Close ends the server, after it has written what it has.
func (s *Server) Close() error {
	err := s.leave()
	s.server.Shutdown()
	s.server.WaitForShutdown()
	return err
}

// registry returns the registry of the configuration.
func (c *Config) registry() registry {
	r := registry{Slots: c.Slots, Replicas: max(c.Replicas, 1), Shards: c.Shards}
	if r.Shards == 0 {
		r.Shards = defaultShards
	}
	for _, t := range c.Tenants {
		r.Tenants = append(r.Tenants, t.Tenant)
	}
	slices.SortFunc(r.Tenants, func(a, b fleet.Tenant) int { return strings.Compare(a.Name, b.Name) })
	return r
}

// options returns the options of the NATS server.
func (c *Config) options(operator string) (*server.Options, error) {
	accounts, err := c.accounts(operator)
	if err != nil {
		return nil, err
	}
	config := map[string]any{"accounts": accounts}
	if c.TLS != nil {
		config["tls"] = c.TLS.options(c.TLS.Verify)
	}
	if c.Cluster != nil {
		config["cluster"] = c.clusterOptions(operator)
	}
	text, err := texts.PlainJSON(config)
	if err != nil {
		return nil, err
	}
	o := &server.Options{}
	// Accounts have limits of JetStream that only a configuration in text can set, and it loads the
	// files of TLS.
	if err := o.ProcessConfigString(string(text)); err != nil {
		return nil, fmt.Errorf("the server refuses its certificate or its accounts: %w", err)
	}
	o.NoSigs, o.NoLog, o.ServerName = true, true, c.Name
	o.JetStream, o.StoreDir, o.JetStreamMaxStore = true, c.Store, c.MaxStore
	o.SyncAlways, o.SyncInterval = c.Sync == 0, time.Duration(c.Sync)
	if o.DontListen = c.Listen == ""; !o.DontListen {
		if o.Host, o.Port, err = hostPort(c.Listen); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// options returns the files as a NATS configuration has them. Verify refuses who has no
// certificate.
func (t *TLS) options(verify bool) map[string]any {
	return map[string]any{"cert_file": t.Cert, "key_file": t.Key, "ca_file": t.CA, "verify": verify,
		"timeout": connectTime.Seconds()}
}

// clusterOptions returns what a member of a cluster needs. Servers know each other by a secret that
// derives from the operator's.
func (c *Config) clusterOptions(operator string) map[string]any {
	const user = "server"
	password := derive(operator, user)
	var routes []string
	for _, r := range c.Cluster.Routes {
		route := url.URL{Scheme: "nats-route", Host: r, User: url.UserPassword(user, password)}
		routes = append(routes, route.String())
	}
	o := map[string]any{"name": c.Cluster.Name, "listen": c.Cluster.Listen, "routes": routes,
		"authorization": map[string]any{"user": user, "password": password},
		// With a pool of connections between two servers, a request may arrive before the interest
		// in its answer, which is lost then.
		"pool_size": -1}
	if c.TLS != nil {
		o["tls"] = c.TLS.options(true)
	}
	return o
}

// accounts returns the accounts as a NATS configuration has them: the operator's and, for each
// tenant, one with everything that it has, for workers, and one with nothing, for its clients and
// the gateway.
func (c *Config) accounts(operator string) (map[string]any, error) {
	hash, err := hashSecret(operator)
	if err != nil {
		return nil, err
	}
	all := map[string]any{"OPERATOR": map[string]any{"jetstream": "enabled",
		"users": []natsUser{{User: operatorUser, Password: hash}}}}
	for _, t := range c.Tenants {
		if hash, err = hashSecret(workerPassword(operator, t.Name)); err != nil {
			return nil, err
		}
		jetStream := any("enabled")
		if t.MaxStore > 0 {
			jetStream = map[string]any{"max_file": t.MaxStore}
		}
		all["TENANT_"+t.Name] = map[string]any{"jetstream": jetStream,
			"users": []natsUser{{User: workerUser(t.Name), Password: hash}}}
		users, err := clientUsers(operator, t)
		if err != nil {
			return nil, err
		}
		all["CLIENTS_"+t.Name] = map[string]any{"users": users,
			"limits": map[string]any{"max_connections": maxConnections, "max_subscriptions": maxSubscriptions}}
	}
	return all, nil
}

// The limits of all clients of one tenant on one server.
const (
	maxConnections   = 1000
	maxSubscriptions = 20_000
)

// natsUser is a user in a NATS configuration.
type natsUser struct {
	User        string           `json:"user"`
	Password    string           `json:"password"` // bcrypt
	Permissions *natsPermissions `json:"permissions,omitempty"`
}

// natsPermissions are the only subjects that a user may use.
type natsPermissions struct {
	Publish   []string `json:"publish"`
	Subscribe []string `json:"subscribe"`
}

// clientUsers returns the users of a tenant's clients and of its gateway. Neither reaches what the
// other hears.
func clientUsers(operator string, t Tenant) ([]natsUser, error) {
	hash, err := hashSecret(gatewayPassword(operator, t.Name))
	if err != nil {
		return nil, err
	}
	users := []natsUser{{User: gatewayUser(t.Name), Password: hash, Permissions: &natsPermissions{
		Publish: []string{clientInbox + ".>"}, Subscribe: []string{callSubject + "> " + gatewayQueue,
			gatewayInbox + ".>"},
	}}}
	if t.Token == "" {
		return users, nil
	}
	if hash, err = t.Token.hash(); err != nil {
		return nil, err
	}
	return append(users, natsUser{User: clientUser(t.Name), Password: hash, Permissions: &natsPermissions{
		Publish: []string{callSubject + ">", gatewayInbox + ".>"}, Subscribe: []string{clientInbox + ".>"},
	}}), nil
}

// hostPort splits an address. The port 0 becomes -1, with which the server picks one.
func hostPort(address string) (string, int, error) {
	host, text, err := net.SplitHostPort(address)
	port, bad := strconv.ParseUint(text, 10, 16)
	if err != nil || bad != nil {
		return "", 0, fmt.Errorf("%q is not host:port, with a number from 0 to 65535, such as 127.0.0.1:4222", address)
	}
	if port == 0 {
		return host, server.RANDOM_PORT, nil
	}
	return host, int(port), nil
}

// serverLog writes what the NATS server says to a logger. It implements [server.Logger].
type serverLog struct {
	log   *slog.Logger
	fatal chan string // gets why the server cannot run, the first time
}

// newServerLog returns the log of a server. With a nil logger it logs nothing.
func newServerLog(log *slog.Logger) serverLog {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return serverLog{log, make(chan string, 1)}
}

func (l serverLog) Noticef(format string, v ...any) { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l serverLog) Warnf(format string, v ...any)   { l.log.Warn(fmt.Sprintf(format, v...)) }
func (l serverLog) Errorf(format string, v ...any)  { l.log.Error(fmt.Sprintf(format, v...)) }
func (l serverLog) Debugf(string, ...any)           {}
func (l serverLog) Tracef(string, ...any)           {}

// Fatalf implements [server.Logger]. The server calls it if it cannot run.
func (l serverLog) Fatalf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.log.Error(text)
	select {
	case l.fatal <- text:
	default:
	}
}

// Traffic counts what clients and workers have sent to a server, and it to them, since it started.
type Traffic struct {
	InMessages  int64 `json:"in_messages"`
	InBytes     int64 `json:"in_bytes"`
	OutMessages int64 `json:"out_messages"`
	OutBytes    int64 `json:"out_bytes"`
}

// Traffic returns the server's traffic, without that between servers.
func (s *Server) Traffic() (Traffic, error) {
	v, err := s.server.Varz(&server.VarzOptions{})
	if err != nil {
		return Traffic{}, err
	}
	return Traffic{InMessages: v.InClientMsgs, InBytes: v.InClientBytes, OutMessages: v.OutClientMsgs,
		OutBytes: v.OutClientBytes}, nil
}
