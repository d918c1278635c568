package otel

import (
	"context"
	"strconv"
	"sync"
	"time"

	api "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/attractor-go/attractor/llm"
)

// The most names that metrics have in an attribute. Each is a series at the receiver, and servers
// and models choose some of them.
const (
	maxTools  = 512
	maxModels = 64
)

// metrics holds the instruments.
type metrics struct {
	names  conventions
	known  *bounded // names of tools
	models *bounded

	modelTime, first, toolTime, inputTime, askTime metric.Float64Histogram
	tokens                                         metric.Int64Histogram // nil if the conventions have counters
	counts                                         map[string]metric.Int64Counter
	cost                                           metric.Float64Counter
	retries                                        metric.Int64Counter
}

// tokenBounds returns the boundaries that the conventions recommend for tokens.
func tokenBounds() []float64 {
	return []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
}

// secondBounds returns the boundaries that the conventions recommend for seconds.
func secondBounds() []float64 {
	return []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
}

// longBounds returns boundaries for what may take minutes.
func longBounds() []float64 {
	return []float64{0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}
}

// newMetrics makes the instruments. What a provider refuses to make goes to OpenTelemetry's error
// handler, and counts nothing.
func newMetrics(p metric.MeterProvider, names conventions) *metrics {
	meter := p.Meter(scope, metric.WithSchemaURL(names.schema))
	m := &metrics{names: names, known: newBounded(maxTools), models: newBounded(maxModels),
		counts: map[string]metric.Int64Counter{}}
	seconds := func(name, what string, bounds []float64) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(what),
			metric.WithExplicitBucketBoundaries(bounds...))
		if err != nil {
			api.Handle(err)
			return noop.Float64Histogram{}
		}
		return h
	}
	count := func(name, unit, what string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(what))
		if err != nil {
			api.Handle(err)
			return noop.Int64Counter{}
		}
		return c
	}
	m.modelTime = seconds(names.modelDuration, "Duration of a model call with all its attempts.", secondBounds())
	m.first = seconds(names.firstChunk, "Time from the request to the first piece of the answer.", secondBounds())
	m.toolTime = seconds(names.toolDuration, "Duration of a tool call.", secondBounds())
	m.inputTime = seconds(names.agentRun, "Duration of the work on an input.", longBounds())
	m.askTime = seconds("attractor.wait.duration", "Time for which a person was waited for.", longBounds())
	m.retries = count("attractor.model.retries", "{retry}", "Attempts of model calls that failed and were repeated.")
	for _, name := range []string{names.inputTokens, names.outputTokens, names.readTokens, names.writeTokens,
		names.reasoningTokens} {
		if name != "" {
			m.counts[name] = count(name, "{token}", "Tokens of model calls.")
		}
	}
	var err error
	if names.tokenUsage != "" {
		m.tokens, err = meter.Int64Histogram(names.tokenUsage, metric.WithUnit("{token}"),
			metric.WithDescription("Number of input and output tokens used."),
			metric.WithExplicitBucketBoundaries(tokenBounds()...))
		if err != nil {
			api.Handle(err)
			m.tokens = noop.Int64Histogram{}
		}
	}
	if m.cost, err = meter.Float64Counter("attractor.cost", metric.WithUnit("{USD}"),
		metric.WithDescription("Cost of model calls by the prices of the catalog.")); err != nil {
		api.Handle(err)
		m.cost = noop.Float64Counter{}
	}
	return m
}

// metricAttrs holds the attributes of a model call that metrics have.
type metricAttrs struct{ provider, model, address, port string }

// ofRequest returns the attributes of a request.
func (m *metrics) ofRequest(req *llm.Request) metricAttrs {
	return metricAttrs{provider: providerName(req.Provider), model: m.models.of(req.Model)}
}

// offered adds the names of the tools that a model is offered to the known ones.
func (m *metrics) offered(tools []llm.ToolDefinition) {
	for i := range tools {
		m.known.add(tools[i].Name)
	}
}

// ofCall returns the attributes of a model call.
func (m *metrics) ofCall(c *modelCall, kind string, more ...attribute.KeyValue) metric.MeasurementOption {
	attrs := append(more, keyOperation.String(opChat), keyProvider.String(c.attrs.provider),
		keyRequestModel.String(c.attrs.model))
	if c.response != nil {
		attrs = append(attrs, keyResponseModel.String(m.models.of(c.response.Model)))
	}
	if port, err := strconv.Atoi(c.attrs.port); err == nil {
		attrs = append(attrs, keyServerAddress.String(c.attrs.address), keyServerPort.Int(port))
	}
	if kind != "" {
		attrs = append(attrs, keyErrorType.String(kind))
	}
	return metric.WithAttributeSet(attribute.NewSet(attrs...))
}

// modelCall reports a model call that has ended.
func (m *metrics) modelCall(c *modelCall, used llm.Usage, kind string) {
	ctx := c.ctx // for exemplars
	m.modelTime.Record(ctx, c.ended.Sub(c.begun).Seconds(), m.ofCall(c, kind))
	if c.cost > 0 {
		m.cost.Add(ctx, c.cost, m.ofCall(c, ""))
	}
	if used == (llm.Usage{}) {
		return
	}
	if m.tokens != nil {
		m.tokens.Record(ctx, int64(used.Input), m.ofCall(c, "", keyTokenType.String("input")))
		m.tokens.Record(ctx, int64(used.Output), m.ofCall(c, "", keyTokenType.String("output")))
		return
	}
	of := m.ofCall(c, "")
	for name, n := range map[string]int{
		m.names.inputTokens:     used.Input,
		m.names.outputTokens:    used.Output,
		m.names.readTokens:      used.CacheRead,
		m.names.writeTokens:     used.CacheWrite,
		m.names.reasoningTokens: used.Reasoning,
	} {
		if n > 0 {
			m.counts[name].Add(ctx, int64(n), of)
		}
	}
}

// firstChunk reports how long the first piece of an answer has taken.
func (m *metrics) firstChunk(c *modelCall, d time.Duration) {
	m.first.Record(c.ctx, d.Seconds(), m.ofCall(c, ""))
}

// retry reports an attempt that is repeated.
func (m *metrics) retry(c *modelCall, kind string) { m.retries.Add(c.ctx, 1, m.ofCall(c, kind)) }

// toolCall reports a tool call that has ended.
func (m *metrics) toolCall(name, kind string, d time.Duration) {
	attrs := []attribute.KeyValue{keyOperation.String(opExecuteTool), keyToolName.String(m.known.of(name))}
	if kind != "" {
		attrs = append(attrs, keyErrorType.String(kind))
	}
	m.toolTime.Record(context.Background(), d.Seconds(), metric.WithAttributes(attrs...))
}

// input reports an input that has ended.
func (m *metrics) input(begun time.Time, reason, kind string, subagent bool) {
	attrs := []attribute.KeyValue{keyOperation.String(opInvokeAgent), keySubagent.Bool(subagent)}
	if reason != "" {
		attrs = append(attrs, keyReason.String(reason))
	}
	if kind != "" {
		attrs = append(attrs, keyErrorType.String(kind))
	}
	m.inputTime.Record(context.Background(), time.Since(begun).Seconds(), metric.WithAttributes(attrs...))
}

// asked reports how long a person was waited for.
func (m *metrics) asked(what, decision string, d time.Duration) {
	m.askTime.Record(context.Background(), d.Seconds(),
		metric.WithAttributes(keyKind.String(what), keyDecision.String(decision)))
}

// bounded is a set of names with a limit.
type bounded struct {
	max   int
	mu    sync.RWMutex
	names map[string]bool
}

func newBounded(limit int) *bounded { return &bounded{max: limit, names: map[string]bool{}} }

// has reports whether a name is in the set.
func (b *bounded) has(name string) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.names[name]
}

// add adds a name, if there is room.
func (b *bounded) add(name string) {
	if b.has(name) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.names) < b.max && len(name) <= maxName {
		b.names[name] = true
	}
}

// of adds a name and returns it, or _OTHER if there is no room.
func (b *bounded) of(name string) string {
	if b.add(name); b.has(name) {
		return name
	}
	return other
}
