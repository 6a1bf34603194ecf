/** Chooses random minions for `--subset` among those with the function, which only the minions themselves know. */
import { randomInt } from "node:crypto";
import type { JobEvent } from "../../../client/running-job.ts";
import type { Value } from "../../../wire/values.ts";

/** The modules of the functions, as arguments of `sys.list_functions`: without them a minion lists thousands of functions. */
export function modulesOf(functions: readonly string[]): string[] {
  return [...new Set(functions.map((name) => name.split(".", 1)[0] ?? ""))];
}

/**
 * Gives each minion with all functions the same chance. Stops reading as soon as no later answer can change the choice.
 *
 * @param minions the minions that were asked for their functions
 * @param events their answers, which are lists of functions
 * @param below gives a random integer from 0 to below its argument
 */
export async function chooseSubset(
  minions: readonly string[],
  events: AsyncIterable<JobEvent>,
  functions: readonly string[],
  count: number,
  below: (end: number) => number = randomInt,
): Promise<string[]> {
  const order = shuffled(minions, below);
  const listed = new Set(minions);
  const hasThem = new Map<string, boolean>();
  const chosen: string[] = [];
  let position = 0;
  for await (const event of events) {
    if (event.kind === "unknown" || event.kind === "silent") hasThem.set(event.id, false);
    else hasThem.set(event.id, hasAll(event.value, functions));
    if (!listed.has(event.id)) {
      // A minion below a syndic becomes known late and goes to the end of the order.
      listed.add(event.id);
      order.splice(position + below(order.length - position + 1), 0, event.id);
    }
    while (position < order.length && hasThem.has(order[position] ?? "")) {
      const id = order[position] ?? "";
      position += 1;
      if (hasThem.get(id) === true) chosen.push(id);
      if (chosen.length === count) return chosen;
    }
  }
  const rest = order.slice(position).filter((id) => hasThem.get(id) === true);
  return [...chosen, ...rest].slice(0, count);
}

function hasAll(value: Value, functions: readonly string[]): boolean {
  return Array.isArray(value) && functions.every((name) => value.includes(name));
}

function shuffled(ids: readonly string[], below: (end: number) => number): string[] {
  const order = [...ids];
  for (let end = order.length; end > 1; end -= 1) {
    const index = below(end);
    [order[index], order[end - 1]] = [order[end - 1] ?? "", order[index] ?? ""];
  }
  return order;
}
