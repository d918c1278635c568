// Package objectschema checks texts against the JSON Schema of an object, as vendors take it for
// the result of a task, and says in words for people and models what is wrong with a schema or with
// a text.
package objectschema
