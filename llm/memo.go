package llm

import "sync"

// Memo keeps the encoded form of a conversation between requests, so that only new messages are encoded and sent messages stay
// the same byte for byte. Its owner passes the same Memo with every request of the conversation. Its content belongs to the
// provider. The zero value is ready to use; a nil Memo keeps nothing. A Memo is safe for concurrent use.
type Memo struct {
	mu    sync.Mutex
	key   string
	seen  []identity
	state any
}

// identity identifies a message without reading it: sent messages never change, so the same parts in memory are the same message.
type identity struct {
	role  Role
	parts *Part // the first part
	n     int
}

func identify(m Message) identity {
	id := identity{role: m.Role, n: len(m.Parts)}
	if len(m.Parts) > 0 {
		id.parts = &m.Parts[0]
	}
	return id
}

// Encode calls encode with the state from the last call and the number of leading messages that it already covers. Encode must
// return the state for all of messages. The state is nil and the number 0 for a new conversation, after an error, when messages
// does not begin with those of the last call, and when key differs. The key names everything else that the encoding depends on,
// such as the provider and the model. Bytes returned by an earlier call must not change: encode only appends.
//
// Encode is for implementations of [Provider].
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
