package doors_test

// roles are the programs that the test binary can be beside the tests.
func roles() map[string]func() int {
	return map[string]func() int{"mcp": mcpServer, "acp": acpAgent}
}
