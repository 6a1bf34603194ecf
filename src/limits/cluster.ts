/** Bounds of several masters as one. */

// # Cluster

/** How long a nats-server may take to tell its version, milliseconds: it takes 20, and a loaded machine's disk takes seconds to read it. */
export const natsServerLookMs = 10_000;
