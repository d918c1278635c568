// Package doors proves that capabilities can be built on what the library exports: its tests are
// small, honest sketches of some, such as a sandbox, a viewer or a fleet's worker, with real
// components and a scripted model. A sketch that needs more than the doors says that a door is
// wrong. There is nothing to import here.
package doors
