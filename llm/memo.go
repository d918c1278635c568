package llm

import "sync"

// Memo keeps the encoded form of one conversation between calls, so that encoding a request costs what is new in it and what
// was sent stays byte for byte as it was sent. Its owner passes the same Memo with every request of the conversation; what is
// in it belongs to the provider. The zero value is ready, a nil Memo keeps nothing. It is safe for concurrent use.
type Memo struct {
	mu    sync.Mutex
	key   string
	seen  []identity
	state any
}

// identity tells a message from every other one without reading it: sent messages are never changed, so the same parts in
// memory are the same message.
type identity struct {
	role  Role
	parts *Part // of the first part
	n     int
}

func identify(m Message) identity {
	id := identity{role: m.Role, n: len(m.Parts)}
	if len(m.Parts) > 0 {
		id.parts = &m.Parts[0]
	}
	return id
}

// Encode is for providers. It calls encode with the state that the last call left and the number of leading messages that are
// in it already; encode returns the state with all of messages in it. The state is nil and the number 0 for a new conversation,
// after an error, and whenever the messages do not go on where the last call's ended or key (everything else the encoding
// depends on, such as the provider and the model) differs. Bytes that an earlier call handed out must stay as they are: encode
// appends.
func (m *Memo) Encode(key string, messages []Message, encode func(state any, from int) (any, error)) error {
	if m == nil {
		_, err := encode(nil, 0)
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.key != key || !m.extendedBy(messages) {
		m.key, m.seen, m.state = key, nil, nil
	}
	state, err := encode(m.state, len(m.seen))
	if err != nil {
		m.key, m.seen, m.state = "", nil, nil
		return err
	}
	for _, msg := range messages[len(m.seen):] {
		m.seen = append(m.seen, identify(msg))
	}
	m.state = state
	return nil
}

func (m *Memo) extendedBy(messages []Message) bool {
	if len(messages) < len(m.seen) {
		return false
	}
	for i, id := range m.seen {
		if identify(messages[i]) != id {
			return false
		}
	}
	return true
}
