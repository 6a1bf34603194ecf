/** Metrics of the reactor. */
import type { MasterConfig } from "../../config/load.ts";
import { reactorWaitingBytesMax } from "../../limits.ts";
import { reactionKinds } from "../../workers/messages/reactor.ts";
import type { Reactor } from "../reactor/reactor.ts";
import type { Limit } from "./push-limits.ts";
import type { Samples } from "./samples.ts";

export type MeteredReactor = Pick<
  Reactor,
  "counters" | "isOn" | "slowestSeconds" | "times" | "waitingBytes" | "waitingCount"
> & {
  readonly reactions: Pick<Reactor["reactions"], "callsWaiting" | "counters">;
};

export function sampleReactor(samples: Samples, reactor: MeteredReactor): void {
  const { counters, times, reactions } = reactor;
  for (const outcome of ["taken", "failed", "own", "dropped"] as const)
    samples.set("saltworks_reactor_events_total", { outcome }, counters[outcome]);
  for (const kind of reactionKinds)
    for (const outcome of ["done", "unmatched", "failed", "dropped"] as const)
      samples.set("saltworks_reactor_reactions_total", { kind, outcome }, reactions.counters[kind][outcome]);
  samples.set("saltworks_reactor_waiting", { what: "events" }, reactor.waitingCount);
  samples.set("saltworks_reactor_waiting", { what: "calls" }, reactions.callsWaiting);
  samples.set("saltworks_reactor_waiting_bytes", {}, reactor.waitingBytes);
  samples.histogram("saltworks_reactor_seconds", { part: "wait" }, times.wait.snapshot());
  samples.histogram("saltworks_reactor_seconds", { part: "render" }, times.render.snapshot());
}

export function sampleReactorLimits(
  limit: Limit,
  { counters, reactions, slowestSeconds, waitingCount, waitingBytes }: MeteredReactor,
  config: Pick<MasterConfig, "reactor_worker_hwm" | "reactor_render_timeout">,
): void {
  const fullest = Math.max(waitingCount, reactions.callsWaiting);
  const dropped = Object.values(reactions.counters).reduce((sum, { dropped: own }) => sum + own, counters.dropped);
  limit("reactor_worker_hwm", fullest, config.reactor_worker_hwm, dropped);
  limit("reactorWaitingBytesMax", waitingBytes, reactorWaitingBytesMax, counters.dropped);
  limit("reactor_render_timeout", slowestSeconds, config.reactor_render_timeout, counters.timeouts);
}

export function reactorCounters({ isOn, counters, reactions, waitingCount }: MeteredReactor): Record<string, number> {
  if (!isOn) return {};
  const each = Object.entries(reactions.counters).flatMap(([kind, outcomes]) =>
    Object.entries(outcomes).map(([outcome, count]): [string, number] => [`${kind}.${outcome}`, count]),
  );
  return { ...counters, waiting: waitingCount, callsWaiting: reactions.callsWaiting, ...Object.fromEntries(each) };
}
