package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/agent"
)

// control is a request to a task's owner.
type control struct {
	Do   controlAct `json:"do"`
	Text string     `json:"text,omitempty"`
	Key  string     `json:"key,omitempty"`
}

// controlAct names what the owner is asked to do.
type controlAct string

const (
	doSteer     controlAct = "steer"
	doInterrupt controlAct = "interrupt"
	doCancel    controlAct = "cancel" // the engine says so, too; this is only faster
)

// controlReply is the owner's reply.
type controlReply struct {
	Error string `json:"error,omitempty"`
	// Leaving says that the session is being given away: the next owner is to be asked.
	Leaving bool `json:"leaving,omitempty"`
}

// serve answers requests for the task until stop is called.
func (j *Job) serve() (stop func(), err error) {
	stop, err = j.Space.Bus.Serve(j.hold, j.Task.ID, func(ctx context.Context, request []byte) []byte {
		reply, err := json.Marshal(j.answerControl(ctx, request))
		if err != nil { // a controlReply always has JSON
			return nil
		}
		return reply
	})
	if err != nil {
		return func() {}, err
	}
	return stop, nil
}

// answerControl carries out a request and returns the reply.
func (j *Job) answerControl(ctx context.Context, request []byte) controlReply {
	var c control
	if err := json.Unmarshal(request, &c); err != nil {
		return controlReply{Error: "the request is no JSON of this protocol: " + err.Error()}
	}
	if j.stop.Err() != nil || !j.gate.open() {
		return controlReply{Leaving: true}
	}
	switch c.Do {
	case doSteer:
		err := j.session.Load().Steer(ctx, c.Text, agent.Key(c.Key))
		if errors.Is(err, agent.ErrReleased) || errors.Is(err, agent.ErrTakenOver) || errors.Is(err, agent.ErrClosed) {
			return controlReply{Leaving: true}
		}
		if err != nil {
			return controlReply{Error: err.Error()}
		}
	case doInterrupt:
		j.endStop(errInterrupted)
	case doCancel:
		j.extend()
	default:
		return controlReply{Error: fmt.Sprintf("this worker does not know %q: it may be of an older version", c.Do)}
	}
	return controlReply{}
}
