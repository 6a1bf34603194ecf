/** `saltworks bench SCENARIO --sweep minions=1000,4000`: the scenario once for each value of a parameter, all in one result. */
import { SaltworksError } from "../../src/errors.ts";
import { curveOf } from "../results/curve.ts";
import type { ParameterValues, Point, RunResult } from "../results/schema.ts";
import { readParameters } from "../scenarios/run.ts";
import type { Scenario } from "../scenarios/scenario.ts";

export type Sweep = { readonly key: string; readonly values: readonly string[] };

const valuesMax = 32;

/** @throws SaltworksError USAGE for a parameter that the scenario does not have or that has a value already, and for each value that it cannot use */
export function readSweep(
  scenario: Scenario<ParameterValues>,
  given: ParameterValues,
  text: string,
  masterHost?: string,
): Sweep {
  const refuse = (fault: string) => new SaltworksError("USAGE", `--sweep ${text}: ${fault}`);
  const at = text.indexOf("=");
  const key = text.slice(0, Math.max(0, at));
  const values = text.slice(at + 1).split(",");
  if (at < 1 || values.some((value) => value.trim() === "")) throw refuse("write KEY=VALUE,VALUE,..");
  if (values.length < 2) throw refuse("takes two values or more");
  if (values.length > valuesMax) throw refuse(`takes at most ${valuesMax} values`);
  if (new Set(values).size < values.length) throw refuse("has a value twice");
  if (given[key] !== undefined) throw refuse(`${key} has one value already, ${given[key]}`);
  // Parsed only to refuse wrong values before anything starts.
  for (const value of values) readParameters(scenario, { ...given, [key]: value }, masterHost);
  return { key, values };
}

/** One result of those for each value. Labels of points and names of comparisons say which. */
export function sweptResult({ key, values }: Sweep, results: readonly RunResult[]): RunResult {
  const [first] = results;
  if (first === undefined) throw new SaltworksError("FUNCTION_FAILED", "the sweep left no result");
  const place = (index: number) => `${key}=${values[index]}`;
  const placed = (points: readonly Point[], index: number) =>
    points.map((point) => ({ ...point, label: `${place(index)}, ${point.label}` }));
  const peers = (first.peers ?? []).map(({ master }, side) => ({
    master,
    points: results.flatMap((result, index) => placed(result.peers?.[side]?.points ?? [], index)),
  }));
  const comparisons = results.flatMap((result, index) =>
    (result.comparisons ?? []).map((comparison) => ({ ...comparison, name: `${place(index)}: ${comparison.name}` })),
  );
  const sides = [first, ...(first.peers ?? [])].map(({ master }, side) => ({
    master: { kind: master.kind, version: master.version },
    byValue: results.map((result) => (side === 0 ? result.points : (result.peers?.[side - 1]?.points ?? []))),
  }));
  const curve = curveOf(key, values.slice(0, results.length), sides);
  const parameters = { ...first.scenario.parameters, [key]: values.slice(0, results.length).join(",") };
  return {
    ...first,
    scenario: { ...first.scenario, parameters },
    points: results.flatMap((result, index) => placed(result.points, index)),
    ...(peers.length > 0 && { peers }),
    ...(comparisons.length > 0 && { comparisons }),
    ...(curve !== undefined && { curve }),
  };
}
