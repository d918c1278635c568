// Package fleettest checks that an engine of package fleet keeps its contract, for authors of
// engines.
//
// [Suite] is the whole check; a [Fleet] says how to open engines on a fleet that is checked.
//
// The checks use several engines on one fleet, as several machines have, and real time: a Fleet
// says in which unit. They make claims of time that hold on a slow machine, too: something that
// expires is waited for, and what must not expire lasts for minutes. They say nothing about speed,
// and nothing about who may connect to an engine, nor about workers.
package fleettest
