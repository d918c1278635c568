package llm

import "sync"

// Memo keeps the encoded form of a conversation between requests, so that only new messages are
// encoded and sent messages stay the same byte for byte. Its owner passes the same Memo with every
// request of the conversation. Its content belongs to the provider. The zero value is ready to use;
// a nil Memo keeps nothing. A Memo is safe for concurrent use.
type Memo struct {
	mu    sync.Mutex
	key   string
	seen  []identity
	state any

	sealed   []Message
	accepted int       // how many of the sealed messages are valid
	encoded  []Message // those of the last call that were sealed then
}

// Seal tells the Memo that a slice and its messages will never change. Requests whose Messages
// begin with this slice itself, not a copy of it, are then compared and validated only from its end
// on, so that their cost does not grow with the conversation. The owner seals the slice again when
// it has become longer.
func (m *Memo) Seal(messages []Message) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !sameStart(m.sealed, messages) || len(messages) < m.accepted {
		m.accepted = 0
	}
	m.sealed = messages
}

// sameStart reports whether two slices begin at the same place in memory.
func sameStart(a, b []Message) bool { return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] }

// sealedBy returns how many of the messages are sealed.
func (m *Memo) sealedBy(messages []Message) int {
	if !sameStart(m.sealed, messages) {
		return 0
	}
	return min(len(m.sealed), len(messages))
}

// validated returns how many leading messages are sealed and known to be valid.
func (m *Memo) validated(messages []Message) int {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return min(m.accepted, m.sealedBy(messages))
}

// accept remembers that all messages are valid, as far as they are sealed.
func (m *Memo) accept(messages []Message) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.accepted = max(m.accepted, m.sealedBy(messages))
}

// identity identifies a message without reading it: sent messages never change, so the same parts
// in memory are the same message.
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

// Encode calls encode with the state from the last call and the number of leading messages that it
// already covers. Encode must return the state for all of messages. The state is nil and the number
// 0 for a new conversation, after an error, when messages does not begin with those of the last
// call, and when key differs. The key names everything else that the encoding depends on, such as
// the provider and the model. Bytes returned by an earlier call must not change: encode only
// appends.
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
		m.key, m.seen, m.encoded, m.state = key, nil, nil, nil
	}
	state, err := encode(m.state, len(m.seen))
	if err != nil {
		m.key, m.seen, m.encoded, m.state = "", nil, nil, nil
		return err
	}
	for _, msg := range messages[len(m.seen):] {
		m.seen = append(m.seen, identify(msg))
	}
	m.state, m.encoded = state, messages[:m.sealedBy(messages)]
	return nil
}

// extendedBy reports whether messages begins with those of the last call.
func (m *Memo) extendedBy(messages []Message) bool {
	if len(messages) < len(m.seen) {
		return false
	}
	from := 0
	if sameStart(m.encoded, messages) {
		from = len(m.encoded)
	}
	for i := from; i < len(m.seen); i++ {
		if identify(messages[i]) != m.seen[i] {
			return false
		}
	}
	return true
}
