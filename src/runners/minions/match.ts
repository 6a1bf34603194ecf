/** Runner `match`: whether a compound matches a minion, by the master's data of it. Minions ask through `peer_run`. Source: Salt 3007. */
import { SaltworksError } from "../../errors.ts";
import { openKeyDirectories } from "../../store/keys/keys.ts";
import { matchesKnown } from "../../target/expected.ts";
import type { DatumMap, Facts } from "../../target/facts.ts";
import { expandTarget, readNodegroups } from "../../target/nodegroups.ts";
import { ParsedTargets } from "../../target/parsed.ts";
import { decode } from "../../wire/msgpack.ts";
import type { Encodable, ValueMap } from "../../wire/values.ts";
import { parametersOf, textArgument } from "../contract/arguments.ts";
import type { RunnerContext, RunnerFunction } from "../contract/contract.ts";

const targets = new ParsedTargets();
/** Compares pillar values exactly, in nodegroups too: with patterns a minion could guess them. */
const kind = "compound_pillar_exact";

/** Not greedy: the id must be accepted, and the minion must have sent the grains or pillar that a term needs. */
function compoundMatches(context: RunnerContext, args: ValueMap): Encodable {
  const id = textArgument(args, "minion_id");
  const isMatch =
    context.config.minion_data_cache && isAccepted(context, id) && matches(context, textArgument(args, "expr"), id);
  return new Map<string, Encodable>([["res", isMatch ? id : false]]);
}

function isAccepted({ config }: RunnerContext, id: string): boolean {
  return openKeyDirectories(config.pki_dir).stampOf("accepted", id) !== undefined;
}

/** As in Salt, an invalid expression does not match. */
function matches(context: RunnerContext, expression: string, id: string): boolean {
  try {
    const written = expandTarget(kind, expression, readNodegroups(context.config.nodegroups));
    return matchesKnown(targets.parse(written.kind, written.expression, ":"), id, factsOf(context, id));
  } catch (error) {
    if (!(error instanceof SaltworksError) || error.code !== "TARGET_INVALID") throw error;
    return false;
  }
}

function factsOf({ minions }: RunnerContext, id: string): Facts | undefined {
  const stored = minions?.get(id);
  return stored && { id, grains: mapOf(stored.grains), pillar: mapOf(stored.pillar) };
}

function mapOf(packed: Uint8Array | undefined): DatumMap {
  const value = packed === undefined ? undefined : decode(packed);
  return value instanceof Map ? (value as DatumMap) : new Map();
}

export const matchRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "match.compound_matches",
    {
      parameters: parametersOf("expr!", "minion_id!"),
      doc: "Whether a compound matches a minion, by the grains and pillar that the master keeps of it: `res` is its id, or False.",
      isOffline: true,
      run: compoundMatches,
    },
  ],
]);
