/** The recorded fleet of test/golden/fleet.json as facts, and the minions that a target finds. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { matchesExpected } from "../../src/target/expected.ts";
import type { Datum, DatumMap, Facts } from "../../src/target/facts.ts";
import { matches } from "../../src/target/match.ts";
import { parseTarget, type Target } from "../../src/target/parse.ts";
import { repositoryRoot } from "../root.ts";

export function readGolden(name: string): unknown {
  return JSON.parse(readFileSync(join(repositoryRoot, "test/golden", name), "utf8"));
}

/** Plain JSON as decoded data. */
export function asMap(value: Readonly<Record<string, unknown>>): DatumMap {
  return new Map(Object.entries(value).map(([key, item]) => [key, asDatum(item)]));
}

function asDatum(value: unknown): Datum {
  if (Array.isArray(value)) return value.map(asDatum);
  if (typeof value === "object" && value !== null) return asMap(value as Record<string, unknown>);
  return value as Datum;
}

type FleetFile = { minions: Record<string, { grains: Record<string, unknown>; pillar: Record<string, unknown> }> };

export const fleet: readonly Facts[] = Object.entries((readGolden("fleet.json") as FleetFile).minions).map(
  ([id, minion]) => ({ id, grains: asMap(minion.grains), pillar: asMap(minion.pillar) }),
);

/** The parsed target; undefined if it is refused and so matches no minion. */
export function parseOrNobody(kind: string, expression: string | readonly string[], delimiter?: string) {
  try {
    return parseTarget(kind, expression, delimiter);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "TARGET_INVALID") return undefined;
    throw error;
  }
}

export function expectedIds(target: Target | undefined): string[] {
  if (target === undefined) return [];
  return fleet.flatMap((facts) => (matchesExpected(target, facts.id, facts) ? [facts.id] : [])).sort();
}

export function matchingIds(target: Target | undefined): string[] {
  if (target === undefined) return [];
  return fleet.flatMap((facts) => (matches(target, facts) ? [facts.id] : [])).sort();
}
