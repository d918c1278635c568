// Package fleettest checks that an engine of package fleet keeps its contract, for authors of
// engines.
//
// [Suite] is the whole check; a [Fleet] says how to open engines on a fleet that is checked.
//
// The checks use several engines on one fleet, as several machines would, and real time, in the
// unit of the Fleet. They pass on a slow machine, too: they wait until something expires, and what
// must not expire lasts for minutes. They do not check speed, who may connect to an engine, or
// workers.
package fleettest
