/** Bounds of the reactor. */

// # Reactor

/** Events that wait for the reactor, bytes: 64 events of the largest size. Over it new events are dropped, counted and named in the log. */
export const reactorWaitingBytesMax = 64 * 1024 * 1024;
/** Share of `reactor_worker_hwm`, and of `reactorWaitingBytesMax`, that events about one minion may take, so that a flood leaves room. Over it its new events are dropped. */
export const reactorShareOfMinion = 0.25;
/** Share that all events of minions and programs may take, so that the master's own always find room: a minion may name others in its events. */
export const reactorShareOfUnmarked = 0.75;
/** Events that the reactor's thread renders in one task, so that the hand-over costs little for each. */
export const reactorEventsPerTask = 64;
/** Bytes of events in one task of the reactor's thread; one event may have more. */
export const reactorBytesPerTask = 1024 * 1024;
/** Events whose reactions are started at once. Jobs of one event start one after the other. */
export const reactorEventsAtOnceMax = 16;
/** Reactions of one event: real ones have a few. With more none is started, and the log names the event. */
export const reactionsOfEventMax = 1_000;
/** Files that one reference of `reactor` may name by wildcards. With more the reference fails, and the log names it. */
export const reactorFilesMax = 1_000;
/** Entries of `reactor`, with entries added at run time. `reactor.add` refuses more. */
export const reactorsMax = 10_000;
/** How long an entry of `reactor` rests after its files took longer than `reactor_render_timeout`, milliseconds: each try would hold up all others. */
export const reactorRestMs = 60_000;

// # Orchestrations

/** Orchestrations that the master runs at once, each in a process of some 80 MB. A further one fails: to let it wait would block one that waits for it. */
export const orchestrationsMax = 16;
/** One orchestration of the master, milliseconds: some take hours. Over it: its process is killed. */
export const orchestrationMs = 86_400_000;
