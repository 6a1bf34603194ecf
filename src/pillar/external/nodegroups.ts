/** Source `nodegroups`: the names of the nodegroups that the minion belongs to. Source: Salt 3007's module of that name, observed. */
import { hasCode, type SaltworksError } from "../../errors.ts";
import { isTrue } from "../../python/values.ts";
import { expandTarget, wordsOf } from "../../target/nodegroups.ts";
import type { Value } from "../../wire/values.ts";
import { matchesMinion } from "../input/minion.ts";
import { sourceFault } from "../input/source-fault.ts";
import type { ExternalSource, SourceContext } from "./contract.ts";

/** A term that matches by pillar, such as `I@role:web` or `I|@role|web`. */
const pillarTerm = /^[IJ].?@/u;

function isMember({ minion, settings }: SourceContext, group: string): boolean {
  // As in Salt's module, a list is the words of a compound: several bare ids have no operator between them and match no minion.
  const written = settings.nodegroups.get(group) ?? [];
  try {
    const { expression } = expandTarget("compound", written, settings.nodegroups);
    if (wordsOf(expression).some((word) => pillarTerm.test(word)))
      throw sourceFault(`nodegroup ${group} matches by pillar, which is not known before the pillar is made`);
    return matchesMinion(minion, settings, "compound", written);
  } catch (error) {
    if (!hasCode(error, "TARGET_INVALID")) throw error;
    const { message, detail } = error as SaltworksError;
    if (detail.isRefused === true) throw sourceFault(`nodegroup ${group}: ${message}`);
    return false;
  }
}

export const nodegroups: ExternalSource = {
  parameters: ["pillar_name"],
  requiredCount: 0,
  isForMinions: true,
  read: (context, args) => {
    const name = args.get("pillar_name") ?? null;
    const groups = [...context.settings.nodegroups.keys()].filter((group) => isMember(context, group));
    return new Map<Value, Value>([[isTrue(name) ? name : "nodegroups", groups]]);
  },
};
