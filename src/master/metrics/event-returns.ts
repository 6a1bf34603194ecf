/** Samples the returners of events (`event_return`). */
import { eventsHandedBytesMax } from "../../limits.ts";
import type { EventReturns } from "../upkeep/event-returns.ts";
import type { Limit } from "./push-limits.ts";
import type { Samples } from "./samples.ts";

export type MeteredEventReturns = Pick<EventReturns, "counters" | "handedBytes" | "isConfigured" | "status">;

/** Only with `event_return`. */
export function sampleEventReturns(samples: Samples, returns: MeteredEventReturns): void {
  if (!returns.isConfigured) return;
  for (const outcome of ["filtered", "unreadable", "dropped", "lost"] as const)
    samples.set("saltworks_event_return_unwritten_total", { outcome }, returns.counters[outcome]);
  for (const { name: returner, counters, ...status } of returns.status()) {
    for (const outcome of ["written", "present", "refused", "dropped", "lost"] as const)
      samples.set("saltworks_event_return_events_total", { returner, outcome }, counters[outcome] ?? 0);
    samples.set("saltworks_event_return_waiting", { returner }, status.waiting);
    samples.set("saltworks_event_return_waiting_bytes", { returner }, status.waitingBytes);
    samples.set("saltworks_event_return_lag_seconds", { returner }, status.lagSeconds);
    samples.set("saltworks_event_return_failures_total", { returner }, counters.failures ?? 0);
    samples.set("saltworks_event_return_up", { returner }, status.state === "writing" ? 1 : 0);
  }
}

export function sampleEventReturnLimits(
  limit: Limit,
  returns: MeteredEventReturns,
  config: { readonly event_return_waiting_max: number; readonly event_return_waiting_max_bytes: number },
): void {
  const all = returns.status();
  const dropped = all.reduce((sum, { counters }) => sum + (counters.dropped ?? 0), 0);
  const fullest = Math.max(0, ...all.map(({ waiting }) => waiting));
  const fullestBytes = Math.max(0, ...all.map(({ waitingBytes }) => waitingBytes));
  limit("event_return_waiting_max", fullest, config.event_return_waiting_max, dropped);
  limit("event_return_waiting_max_bytes", fullestBytes, config.event_return_waiting_max_bytes, dropped);
  limit("eventsHandedBytesMax", returns.handedBytes, eventsHandedBytesMax, returns.counters.dropped);
}
