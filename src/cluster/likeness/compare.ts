/** Compares what the members of a cluster told of themselves. Pure. */
import type { StateAnswer, TreeName, TreeState } from "./message.ts";

export type DifferenceKind = "only here" | "missing here" | "differs";

/**
 * How one member differs from most members, or from the one that was asked if none of the values has a majority. `name`: an option, `version`,
 * `clock`, or a path of `environment`.
 */
export type Difference = {
  readonly member: string;
  readonly subject: "option" | "version" | "clock" | TreeName;
  readonly environment?: string;
  readonly name: string;
  readonly kind: DifferenceKind;
  /** The member's value, or how far its clock is from the one that was asked. */
  readonly detail?: string;
};

export type Told = { readonly member: string; readonly state: StateAnswer };
/** Files with their digests. */
export type Files = ReadonlyMap<string, string>;
/** A tree of which the members have different digests. */
export type UnlikeTree = { readonly tree: TreeName; readonly environment: string; readonly members: readonly string[] };

type Valued = { readonly member: string; readonly value: string | undefined };

/** Each member whose value is not the usual one, with the kind of the difference. `own`: wins if two values are equally frequent. */
function unlike(values: readonly Valued[], own: string): { readonly member: string; readonly kind: DifferenceKind }[] {
  const counts = new Map<string | undefined, number>();
  for (const { value } of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  if (counts.size < 2) return [];
  const most = Math.max(...counts.values());
  const frequent = [...counts].filter(([, count]) => count === most).map(([value]) => value);
  const owns = values.find(({ member }) => member === own);
  const usual = owns !== undefined && frequent.includes(owns.value) ? owns.value : frequent[0];
  const kindOf = (value: string | undefined): DifferenceKind => {
    if (usual === undefined) return "only here";
    return value === undefined ? "missing here" : "differs";
  };
  return values.filter(({ value }) => value !== usual).map(({ member, value }) => ({ member, kind: kindOf(value) }));
}

export function compareStates(told: readonly Told[], own: string): Difference[] {
  const versions = told.map(({ member, state }) => ({ member, value: state.version }));
  const byVersion = unlike(versions, own).map(({ member, kind }): Difference => {
    const detail = versions.find((one) => one.member === member)?.value ?? "";
    return { member, subject: "version", name: "version", kind, detail };
  });
  const names = [...new Set(told.flatMap(({ state }) => Object.keys(state.options)))];
  const byOption = names.flatMap((name) => {
    const values = told.map(({ member, state }) => ({ member, value: state.options[name]?.digest }));
    return unlike(values, own).map(({ member, kind }): Difference => {
      const detail = told.find((one) => one.member === member)?.state.options[name]?.shown;
      return { member, subject: "option", name, kind, ...(detail !== undefined && { detail }) };
    });
  });
  return [...byVersion, ...byOption];
}

/** `clocks`: how far each member's clock is ahead of the asking one's, milliseconds; `unsureMs`: how wrong that may be. */
export function compareClocks(
  clocks: readonly { readonly member: string; readonly aheadMs: number; readonly unsureMs: number }[],
  limitMs: number,
): Difference[] {
  return clocks
    .filter(({ aheadMs, unsureMs }) => Math.abs(aheadMs) - unsureMs > limitMs)
    .map(({ member, aheadMs }) => {
      const detail = `${(Math.abs(aheadMs) / 1_000).toFixed(1)} s ${aheadMs > 0 ? "ahead" : "behind"}`;
      return { member, subject: "clock", name: "clock", kind: "differs", detail };
    });
}

/** The trees whose digests differ. `emptyDigest`: of a member that does not have the environment. Trees that were not read to their end are left out. */
export function unlikeTrees(told: readonly Told[], emptyDigest: string): UnlikeTree[] {
  const found = new Map<string, TreeState>();
  for (const { state } of told) for (const one of state.trees) found.set(`${one.tree} ${one.environment}`, one);
  return [...found.values()].flatMap(({ tree, environment }) => {
    const states = told.map(({ member, state }) => ({
      member,
      digest: (treeIn(state, tree, environment) ?? { digest: emptyDigest }).digest,
    }));
    const whole = states.filter(({ digest }) => digest !== undefined);
    if (new Set(whole.map(({ digest }) => digest)).size < 2) return [];
    return [{ tree, environment, members: whole.map(({ member }) => member) }];
  });
}

export function treeIn(state: StateAnswer, tree: TreeName, environment: string): TreeState | undefined {
  return state.trees.find((one) => one.tree === tree && one.environment === environment);
}

export function compareFiles(
  { tree, environment }: Pick<UnlikeTree, "tree" | "environment">,
  files: ReadonlyMap<string, Files>,
  own: string,
): Difference[] {
  const paths = [...new Set([...files.values()].flatMap((one) => [...one.keys()]))].sort();
  return paths.flatMap((name) => {
    const values = [...files].map(([member, one]) => ({ member, value: one.get(name) }));
    return unlike(values, own).map(({ member, kind }) => ({ member, subject: tree, environment, name, kind }));
  });
}
