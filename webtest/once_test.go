package webtest

import "sync"

// onceError calls a function once and keeps its error.
type onceError struct {
	once sync.Once
	err  error
}

// do returns the error of the first call's function.
func (o *onceError) do(f func() error) error {
	o.once.Do(func() { o.err = f() })
	return o.err
}
