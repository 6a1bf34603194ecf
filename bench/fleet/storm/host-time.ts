/** What a process of a storm tells, in this machine's time and with the name of the process's host. */
import { hostName, type StormHost } from "./host.ts";
import type { ResponderCounts, ResponderReport, RunOutcome } from "./messages.ts";

/** The end of an order. */
export type Done = { readonly outcome?: RunOutcome; readonly report?: ResponderReport };

/** In this machine's time, and with the host that did it. */
export function doneOf({ outcome, report }: Done, host: StormHost): Done {
  const { cores } = host;
  const name = hostName(host);
  const where = name === undefined ? {} : { host: { name, cores } };
  return {
    ...(outcome && { outcome: { ...outcome, self: { ...outcome.self, ...where } } }),
    ...(report && {
      report: { ...report, counts: countsOf(report.counts, host), self: { ...report.self, ...where } },
    }),
  };
}

export function countsOf(counts: ResponderCounts, { clock }: StormHost): ResponderCounts {
  const { lastReplyAtMs } = counts;
  return { ...counts, lastReplyAtMs: lastReplyAtMs === 0 ? 0 : lastReplyAtMs - clock.offsetMs };
}
