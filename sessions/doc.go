// Package sessions finds and lists the sessions of a store, and says where each works.
package sessions
