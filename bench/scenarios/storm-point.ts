/** Makes a result's point from the outcome of a storm and the cost of its master. */
import type { StormOutcome } from "../fleet/storm/storm.ts";
import { besideOthers } from "../load/self-check.ts";
import type { Point } from "../results/schema.ts";
import { cpuOf, type Span } from "./measures/measure.ts";
import { networkOf } from "./measures/network.ts";
import { storageOf } from "./measures/storage.ts";

/** Missing and wrong replies, over all lanes. */
export function errorsOf(outcome: Pick<StormOutcome, "lanes">): Record<string, number> {
  const errors: Record<string, number> = {};
  for (const [name, { failed, timedOut, wrong, empty }] of Object.entries(outcome.lanes)) {
    errors[`${name}: refused replies`] = failed;
    errors[`${name}: no reply`] = timedOut;
    errors[`${name}: wrong replies`] = wrong;
    errors[`${name}: empty replies`] = empty;
  }
  return errors;
}

/** `figures` are added to those of the generator. CPU is divided by the operations of all lanes, and `besides` that others completed. */
export function stormPoint(o: {
  label: string;
  parameters: Point["parameters"];
  outcome: StormOutcome;
  span: Span;
  correctness: Point["correctness"];
  besides?: number;
  figures: Record<string, number>;
}): Point {
  const lanes = Object.values(o.outcome.lanes);
  const sum = (name: "completed" | "sent" | "repeated" | "verified"): number =>
    lanes.reduce((total, lane) => total + lane[name], 0);
  const completed = sum("completed") + (o.besides ?? 0);
  return {
    label: o.label,
    parameters: { ...o.parameters },
    wallMs: o.outcome.wallMs,
    operations: Object.fromEntries(Object.entries(o.outcome.lanes).map(([name, lane]) => [name, lane.operation])),
    cpu: cpuOf(o.span, completed),
    memory: o.span.memory,
    storage: storageOf(o.span, completed),
    network: networkOf(o.outcome.traffic, completed),
    series: o.span.series,
    correctness: o.correctness,
    generator: besideOthers(o.outcome.generator, o.span.otherShare),
    figures: {
      generatorCpuUsPerOperation: (o.outcome.generatorCpuMs * 1_000) / Math.max(1, sum("sent")),
      repliesVerified: sum("verified"),
      requestsRepeated: sum("repeated"),
      ...o.figures,
    },
  };
}

/** For requests other than returns: each needs one right reply. */
export function answered(outcome: Pick<StormOutcome, "lanes">): Point["correctness"] {
  const lanes = Object.values(outcome.lanes);
  const expected = lanes.reduce((total, { planned }) => total + planned, 0);
  const accounted = lanes.reduce((total, { completed, wrong }) => total + completed - wrong, 0);
  const errors = Object.fromEntries(Object.entries(errorsOf(outcome)).filter(([, times]) => times > 0));
  return { expected, accounted, missing: expected - accounted, duplicates: 0, errors };
}
