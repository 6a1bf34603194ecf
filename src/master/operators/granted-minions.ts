/**
 * The granted minions of a restricted user, to which a grant lets it publish. Our own functions give such a user
 * ids and data of these minions only. docs/external-auth.md.
 */
import { type ConfigValue, isConfigMap } from "../../config/yaml/values.ts";
import { SaltworksError } from "../../errors.ts";
import type { Tree } from "../../target/compound.ts";
import type { Target } from "../../target/parse.ts";

/** Every minion, or these. */
export type GrantedMinions = "everyone" | ReadonlySet<string>;
/** A restricted caller of a function, which may see its own jobs and the granted minions. */
export type Asker = { readonly user: string; readonly granted: () => Promise<GrantedMinions> };

/** The targets of a user's grants; undefined if a grant covers every minion. Grants of runner and wheel functions do not reach minions. */
export function grantedTargets(grants: readonly ConfigValue[]): readonly string[] | undefined {
  const found: string[] = [];
  for (const grant of grants) {
    if (typeof grant === "string") {
      if (!grant.startsWith("@")) return undefined;
      continue;
    }
    const [only, ...more] = isConfigMap(grant) ? Object.entries(grant) : [];
    if (only === undefined || more.length > 0) continue;
    const [target, conditions] = only;
    const isEmpty = conditions === null || (Array.isArray(conditions) && conditions.length === 0);
    if (!target.startsWith("@") && !isEmpty) found.push(target);
  }
  return found;
}

/** Whether any part of a target is decided from pillars. With enough questions a user could read a pillar value letter by letter. */
export function readsPillar({ kind, minionTree, masterTree }: Target): boolean {
  return (
    kind.startsWith("pillar") || [minionTree, masterTree].some((tree) => tree !== undefined && treeReadsPillar(tree))
  );
}

function treeReadsPillar(tree: Tree): boolean {
  switch (tree.kind) {
    case "term":
      return tree.term.kind === "pillar";
    case "not":
      return treeReadsPillar(tree.inner);
    case "nothing":
      return false;
    default:
      return tree.items.some(treeReadsPillar);
  }
}

/** @throws SaltworksError TARGET_INVALID */
export function refusePillar(target: Target): void {
  if (!readsPillar(target)) return;
  const reason = "pillar targets are looked up for users without restriction only";
  throw new SaltworksError("TARGET_INVALID", reason, { isRefused: true });
}
