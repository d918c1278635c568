// Package pieces joins the pieces of a long text without copying what has arrived whenever the text grows.
package pieces
