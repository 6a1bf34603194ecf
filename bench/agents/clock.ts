/** How far an agent's clock is from ours, by round trips, as NTP does it (RFC 5905, section 8, with one time of the other side). */

export type Clock = {
  /** The agent's clock minus ours. */
  readonly offsetMs: number;
  /** The true offset lies within this of `offsetMs`. */
  readonly uncertaintyMs: number;
  readonly roundTripMs: number;
};

/** The least round trip of this number counts, because delays only add to it. */
const roundTrips = 16;
/** Clocks are read in whole milliseconds. */
const resolutionMs = 1;

/** `ask`: resolves to the agent's clock. */
export async function measureClock(ask: () => Promise<number>): Promise<Clock> {
  let best: Clock = { offsetMs: 0, uncertaintyMs: Number.POSITIVE_INFINITY, roundTripMs: Number.POSITIVE_INFINITY };
  for (let trip = 0; trip < roundTrips; trip += 1) {
    const askedAtMs = Date.now();
    const startedMs = performance.now();
    const theirMs = await ask();
    const roundTripMs = performance.now() - startedMs;
    if (roundTripMs >= best.roundTripMs) continue;
    const offsetMs = theirMs - (askedAtMs + roundTripMs / 2);
    best = { offsetMs, uncertaintyMs: roundTripMs / 2 + resolutionMs, roundTripMs };
  }
  return best;
}
