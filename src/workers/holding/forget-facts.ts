/** Forgets grains, pillar, mine or single functions of it when an operator asks. The minion's next refresh brings them back. */
import type { ForgottenFacts } from "../../runners/contract/contract.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { ValueMap } from "../../wire/values.ts";
import type { Shard } from "./shard.ts";

const emptyMap = encode(new Map(), "bin");

/** @returns how many minions had something to forget */
export async function forgetFacts(
  shard: Pick<Shard, "facts"> & { readonly stores: Pick<Shard["stores"], "minions"> },
  { ids, hasGrains, hasPillar, mine }: ForgottenFacts,
): Promise<number> {
  let count = 0;
  for (const id of ids) {
    const isKnown = hasGrains || hasPillar ? await forgetFactsOf(shard, id, hasGrains, hasPillar) : false;
    const hadMine = await forgetMine(shard.stores.minions, id, mine);
    if (isKnown || hadMine) count += 1;
  }
  return count;
}

async function forgetFactsOf(
  { facts, stores }: Parameters<typeof forgetFacts>[0],
  id: string,
  hasGrains: boolean,
  hasPillar: boolean,
): Promise<boolean> {
  const stored = facts.stored(id);
  if (stored === undefined) return false;
  if (hasGrains && hasPillar) await facts.drop(id, stores.minions.dropFacts(id));
  else await facts.keep(id, hasGrains ? emptyMap : stored.grains, hasPillar ? emptyMap : stored.pillar);
  return true;
}

async function forgetMine(
  minions: Shard["stores"]["minions"],
  id: string,
  forgotten: ForgottenFacts["mine"],
): Promise<boolean> {
  if (forgotten !== "whole" && forgotten.length === 0) return false;
  const stored = minions.getMine(id);
  if (stored === undefined) return false;
  if (forgotten === "whole") {
    await minions.dropMine(id);
    return true;
  }
  const mine = decode(stored) as ValueMap;
  const gone = forgotten.filter((name) => mine.delete(name));
  if (gone.length > 0) await minions.putMine(id, encode(mine, "bin"));
  return gone.length > 0;
}
