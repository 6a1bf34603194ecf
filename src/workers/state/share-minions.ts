/** A worker's part in sharing its minions' data with the other members of a cluster: hands out what is unsent, writes what has come. */
import type {
  AppliedParts,
  ArrivedPart,
  SentPart,
  ShareAsk,
  TakenParts,
  UnsentPart,
} from "../../cluster/minions/local.ts";
import { SaltworksError } from "../../errors.ts";
import { sharedMarksScanned, sharedTakenBytesMax, sharedTakenMax, sharedWritesMax } from "../../limits.ts";
import { joinFacts, type MinionData, splitFacts } from "../../store/minions/data.ts";
import type { ForgottenPart } from "../../store/minions/forgotten.ts";
import type { MarkChange, ShareMarks } from "../../store/minions/share-marks.ts";
import type { WorkerState } from "./worker-state.ts";

/** `owner`: the worker. `minions`: its store without marks, so that what comes from other members is not sent again. */
export type ShareSite = {
  readonly owner: Pick<WorkerState, "owns" | "isAccepted" | "facts">;
  readonly minions: MinionData;
  readonly marks: ShareMarks;
};

export async function shareMinions(site: ShareSite, ask: ShareAsk): Promise<unknown> {
  switch (ask.what) {
    case "open":
      return await site.marks.openPlace(ask.stream, ask.lastSequence);
    case "setPlace":
      return await site.marks.setPlace(ask.place);
    case "markAll":
      return await markAll(site, ask.part, ask.after);
    case "count":
      return site.marks.unsentCount;
    case "take":
      return await take(site, ask.after);
    case "noteSent":
      return await noteSent(site, ask.parts);
    case "apply":
      return await apply(site, ask.parts);
    default: {
      const never: never = ask;
      throw new SaltworksError("WIRE_MALFORMED", `unknown task ${String(never)}`);
    }
  }
}

/** Marks what this member had before it joined, and the cluster does not have, as unsent. @returns the cursor for more */
async function markAll(
  { owner, marks }: ShareSite,
  part: ForgottenPart,
  after: string | undefined,
): Promise<string | undefined> {
  const { ids, next } = marks.idsAfter(part, after, sharedMarksScanned);
  const mine = ids.filter((id) => owner.owns(id) && owner.isAccepted(id) && marks.step(id, part) === 0);
  await marks.change(mine.map((id) => ({ id, part, isUnsent: true })));
  return next;
}

async function take(site: ShareSite, after: string | undefined): Promise<TakenParts> {
  const { marks, owner } = site;
  const parts: UnsentPart[] = [];
  const needless: MarkChange[] = [];
  let bytes = 0;
  let last = after;
  const { found, next } = marks.unsent(after, sharedTakenMax);
  const waiting = marks.unsentCount;
  for (const { id, part, version, cursor } of found) {
    if (bytes > sharedTakenBytesMax) break;
    last = cursor;
    if (!owner.owns(id) || marks.isWriting(id, part)) continue;
    const data = unsentData(site, id, part);
    const step = marks.step(id, part);
    if (data === "nothing" || (data === undefined && step === 0)) {
      needless.push({ id, part, isUnsent: false });
      continue;
    }
    bytes += data?.byteLength ?? 0;
    parts.push({ id, part, version, step, data });
  }
  await marks.change(needless);
  // Beyond the bound of bytes the next question goes on after the last one.
  return { parts, next: bytes > sharedTakenBytesMax ? last : next, waiting };
}

/** The stored part in memory of its own; undefined if it was removed; `nothing` if it must not be sent. */
function unsentData(
  { owner, minions }: ShareSite,
  id: string,
  part: ForgottenPart,
): Uint8Array<ArrayBuffer> | undefined | "nothing" {
  const { grains, pillar, mine, damaged } = minions.parts(id);
  if (damaged.has(part)) return "nothing";
  const data = part === "mine" ? mine : grains && pillar && joinFacts(grains, pillar);
  if (data === undefined) return undefined;
  // With `preserve_minion_cache` the data of a removed key stays on each member.
  return owner.isAccepted(id) ? Uint8Array.from(data) : "nothing";
}

async function noteSent({ marks }: ShareSite, parts: readonly SentPart[]): Promise<void> {
  await marks.change(
    parts.map(({ id, part, version, sequence = 0, isRemoval }): MarkChange => {
      // Otherwise it has changed again meanwhile, and stays unsent.
      const isCurrent = !marks.isWriting(id, part) && marks.unsentVersion(id, part) === version;
      const isNewer = sequence > marks.step(id, part);
      const step = isRemoval && isCurrent ? 0 : sequence;
      return { id, part, ...(isCurrent ? { isUnsent: false } : {}), ...(isNewer ? { step } : {}) };
    }),
  );
}

async function apply(site: ShareSite, parts: readonly ArrivedPart[]): Promise<AppliedParts> {
  const keyless: number[] = [];
  const counts = { applied: 0, kept: 0 };
  // LMDB's room for a put is large, so that few of them may be under way.
  for (let at = 0; at < parts.length; at += sharedWritesMax) {
    const writes: Promise<void>[] = [];
    const changes: MarkChange[] = [];
    for (const [index, arrived] of parts.slice(at, at + sharedWritesMax).entries()) {
      const outcome = outcomeOf(site, arrived);
      if (outcome === "keyless") keyless.push(at + index);
      else if (outcome === "kept") counts.kept += 1;
      else if (outcome !== "known") changes.push(outcome.change);
      if (typeof outcome === "string" || !outcome.isWritten) continue;
      counts.applied += 1;
      writes.push(write(site, arrived));
    }
    // The marks follow the data, so that a crash between them makes it come again.
    await Promise.all([...writes, site.marks.change(changes)]);
  }
  return { ...counts, keyless };
}

/** What is to be done with a message. */
function outcomeOf(
  { owner, minions, marks }: ShareSite,
  { id, part, sequence, data }: ArrivedPart,
): "known" | "keyless" | "kept" | { readonly change: MarkChange; readonly isWritten: boolean } {
  if (sequence <= marks.step(id, part)) return "known";
  if (data !== undefined && !owner.isAccepted(id)) return "keyless";
  const { grains, pillar, mine } = minions.parts(id);
  const own = part === "mine" ? mine : grains && pillar && joinFacts(grains, pillar);
  const isWriting = marks.isWriting(id, part);
  const isUnsent = isWriting || marks.unsentVersion(id, part) !== undefined;
  const isSame = data === undefined ? own === undefined : own !== undefined && Buffer.compare(own, data) === 0;
  // A change made here and not sent yet is later than the message. A removal made here was of what the message replaces.
  if (isUnsent && !isSame && (own !== undefined || isWriting)) return "kept";
  const step = data === undefined ? 0 : sequence;
  // What is left of a minion without a key was preserved: the end of its key here has decided that.
  const isPreserved = data === undefined && !owner.isAccepted(id);
  const change = { id, part, step, ...(isUnsent && !isWriting ? { isUnsent: false } : {}) };
  return { change, isWritten: !isSame && !isPreserved };
}

function write(
  { owner, minions }: Pick<ShareSite, "owner" | "minions">,
  { id, part, data }: Omit<ArrivedPart, "sequence">,
): Promise<void> {
  if (part === "mine") return data === undefined ? minions.dropMine(id) : minions.putMine(id, data);
  const facts = splitFacts(data === undefined ? undefined : Buffer.from(data.buffer, data.byteOffset, data.byteLength));
  if (facts === undefined) return owner.facts.drop(id, minions.dropFacts(id));
  return owner.facts.take(id, facts, minions.putGrains(id, facts.grains, facts.pillar));
}
