package checkpoint

import (
	"slices"
)

// maxNames is how many names of each kind a Left has.
const maxNames = 10

// add adds a name. The first ones in order are kept.
func (n *Names) add(name string) {
	n.Count++
	n.keep(name)
}

// keep inserts a name if it is one of the first.
func (n *Names) keep(name string) {
	i, _ := slices.BinarySearch(n.First, name)
	if i < maxNames {
		n.First = slices.Insert(n.First, i, name)
		n.First = n.First[:min(len(n.First), maxNames)]
	}
}

// merge adds the names of another list.
func (n *Names) merge(other Names) {
	n.Count += other.Count
	for _, name := range other.First {
		n.keep(name)
	}
}

// merge adds what another part of the tree has left out.
func (l *Left) merge(other *Left) {
	l.Ignored.merge(other.Ignored)
	l.Special.merge(other.Special)
	l.Large.merge(other.Large)
	l.Unreadable.merge(other.Unreadable)
	l.Unsteady.merge(other.Unsteady)
}

// without returns the left of a part that another one does not have already. A name that would come
// behind those that the other one gives counts as one of the rest.
func (l *Left) without(other *Left) Left {
	return Left{l.Ignored.without(other.Ignored), l.Special.without(other.Special), l.Large.without(other.Large),
		l.Unreadable.without(other.Unreadable), l.Unsteady.without(other.Unsteady)}
}

func (n Names) without(other Names) Names {
	var rest Names
	for _, name := range n.First {
		unnamed := other.Count > len(other.First) && (len(other.First) == 0 || name > other.First[len(other.First)-1])
		if !unnamed && !slices.Contains(other.First, name) {
			rest.add(name)
		}
	}
	return rest
}
