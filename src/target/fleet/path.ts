/**
 * Paths into nested grains or pillar, and the values that they reach. Each step does what matching one minion does (../nested-match.ts). Pure.
 */
import { type Datum, type DatumMap, isList, isMap } from "../facts.ts";
import { listChild, mapChild } from "../nested-match.ts";
import { mayBeWholeFloat, typedKeys } from "../typed-keys.ts";

/** `key`: an entry of a map. `child`: an entry of a map or list. `any`: every child of a map. `members`: the maps in a list. */
export type Step =
  | { readonly kind: "key" | "child"; readonly name: string }
  | { readonly kind: "any" }
  | { readonly kind: "members" };
export type Root = "grains" | "pillar";
export type Path = { readonly root: Root; readonly steps: readonly Step[]; readonly text: string };

export function pathOf(root: Root, steps: readonly Step[]): Path {
  const words = steps.map((step) => ("name" in step ? `${step.kind} ${JSON.stringify(step.name)}` : step.kind));
  return { root, steps, text: [root, ...words].join(" ") };
}

export function extended(path: Path, ...steps: readonly Step[]): Path {
  return pathOf(path.root, [...path.steps, ...steps]);
}

/** Top-level keys that the path may begin with; undefined if it reads all of them. */
export function firstKeys(path: Path): readonly Datum[] | undefined {
  const [first] = path.steps;
  if (first === undefined || !("name" in first)) return undefined;
  return mayBeWholeFloat(first.name) ? undefined : [first.name, ...typedKeys(first.name)];
}

/** Returns every value that the path leads to. */
export function reach(data: DatumMap, steps: readonly Step[]): readonly Datum[] {
  let reached: readonly Datum[] = [data];
  for (const step of steps) {
    if (reached.length === 0) return reached;
    const next: Datum[] = [];
    for (const value of reached) takeStep(value, step, next);
    reached = next;
  }
  return reached;
}

function takeStep(value: Datum, step: Step, into: Datum[]): void {
  if (step.kind === "any") {
    if (isMap(value)) for (const child of value.values()) into.push(child);
    return;
  }
  if (step.kind === "members") {
    if (isList(value)) for (const member of value) if (isMap(member)) into.push(member);
    return;
  }
  const child = isMap(value)
    ? mapChild(value, step.name)
    : step.kind === "child" && isList(value)
      ? listChild(value, step.name)
      : undefined;
  if (child !== undefined) into.push(child);
}
