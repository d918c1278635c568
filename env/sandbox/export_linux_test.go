package sandbox

// Capped returns options whose level Observe uses a version of Landlock of an older kernel.
func (o Options) Capped(abi int) Options {
	o.abi = abi
	return o
}

// RemoveTree is removeTree.
var RemoveTree = removeTree
