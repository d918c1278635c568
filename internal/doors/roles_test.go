package doors_test

// roles returns the programs that the test binary can run instead of the tests.
func roles() map[string]func() int {
	return map[string]func() int{"acp": acpAgent}
}
