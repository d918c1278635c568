package natsfleet

import (
	"fmt"
	"log/slog"
)

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
