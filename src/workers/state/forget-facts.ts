/** Removes a minion's grains, pillar, mine or functions of its mine when an operator asks. The minion's next refresh stores them again. */
import type { ForgottenFacts } from "../../runners/contract/contract.ts";
import { encode } from "../../wire/msgpack.ts";
import { packedMembers } from "../../wire/pick.ts";
import type { WorkerState } from "./worker-state.ts";

const emptyMap = encode(new Map(), "bin");

/** @returns the number of minions that had something to remove */
export async function forgetFacts(
  worker: Pick<WorkerState, "facts"> & { readonly stores: Pick<WorkerState["stores"], "minions"> },
  { ids, hasGrains, hasPillar, mine }: ForgottenFacts,
): Promise<number> {
  let count = 0;
  for (const id of ids) {
    const isKnown = hasGrains || hasPillar ? await forgetFactsOf(worker, id, hasGrains, hasPillar) : false;
    const hadMine = await forgetMine(worker.stores.minions, id, mine);
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
  minions: WorkerState["stores"]["minions"],
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
  const mine = packedMembers(stored, Number.POSITIVE_INFINITY);
  const gone = forgotten.filter((name) => mine.delete(name));
  if (gone.length > 0) await minions.putMine(id, encode(mine, "bin"));
  return gone.length > 0;
}
