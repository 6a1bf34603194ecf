/**
 * `_pillar`: the pillar lane renders the pillar from the minion's grains. The pillar is stored for targeting, then the RSA lane seals it for
 * this minion alone. docs/protocol.md sections 2.3 and 7.1.
 */
import { isEncAlgorithm, isSigAlgorithm } from "../../crypto/rsa.ts";
import { encode } from "../../wire/msgpack.ts";
import { failedReply } from "../../wire/reply.ts";
import { rawToBin } from "../../wire/walk.ts";
import type { WorkerState } from "../state/worker-state.ts";
import type { Answer, BatchEffects, Opened } from "./context.ts";
import { fieldBytes, textOf } from "./fields.ts";

const emptyPillar = encode(new Map(), "raw");
/** Salt's reply to a minion whose key file is gone. */
const keyNotFound = encode({ error: "AES key not found" }, "raw");
/** First byte of an empty map in msgpack. Minions send an empty map if they have no override. */
const emptyMapByte = 0x80;
const noneByte = 0xc0;
const trueByte = 0xc3;

export function handlePillar(worker: WorkerState, batch: BatchEffects, opened: Opened): Answer {
  const { load, entries, id, version, nonce, encAlgorithm, sigAlgorithm } = opened;
  if (id === undefined) return { value: new Map() };
  worker.fileAnswers.noteRun(id, performance.now());
  // Both algorithms are outside the seal, so an attacker may change them. As in Salt the request fails, here before the pillar is rendered.
  if (!isEncAlgorithm(encAlgorithm) || (version >= 3 && !isSigAlgorithm(sigAlgorithm))) {
    worker.count("refused.algorithm");
    return { raw: failedReply };
  }
  const minionPem = worker.acceptedPem(id);
  if (minionPem === undefined) return { raw: keyNotFound };
  const reply = { version, nonce, encAlgorithm, sigAlgorithm, minionPem };
  const grains = fieldBytes(load, entries, "grains");
  // As in Salt, a request without grains gets an empty pillar, sealed for the minion alone.
  if (grains === undefined)
    return { deferred: { kind: "rsa", task: { kind: "pillarReply", ...reply, pillar: emptyPillar } } };
  const extraData = fieldBytes(load, entries, "extra_minion_data");
  const bytes = grains.byteLength + (extraData?.byteLength ?? 0);
  worker.meter.noteSize("grains", bytes);
  if (bytes > worker.start.config.grains_max_bytes) {
    const pillar = refuseGrains(worker, batch, id, bytes);
    return { deferred: { kind: "rsa", task: { kind: "pillarReply", ...reply, pillar } } };
  }
  const task = {
    id,
    grains: ownBytes(grains),
    saltenv: textOf(load, entries, "saltenv"),
    pillarenv: textOf(load, entries, "pillarenv"),
    override: filled(fieldBytes(load, entries, "pillar_override")),
    extraData: filled(extraData),
    onDemand: filled(fieldBytes(load, entries, "ext")),
    isCacheCleaned: fieldBytes(load, entries, "clean_cache")?.[0] === trueByte,
  };
  return { deferred: { kind: "pillar", task, reply } };
}

/**
 * Refuses grains over the bound. The stored facts stay as they are.
 *
 * @returns a pillar with `_errors`, which minions show; with it they refuse state runs
 */
function refuseGrains(worker: WorkerState, batch: BatchEffects, id: string, bytes: number): Uint8Array {
  worker.count("grains.tooLarge");
  const bound = `grains_max_bytes (${worker.start.config.grains_max_bytes})`;
  batch.refuse(
    id,
    `a minion's grains are not stored and its pillar is not rendered: grains and extra data exceed ${bound}`,
  );
  const sentence = `Grains and extra data of ${bytes} bytes exceed ${bound} of the master: they are not kept, and this pillar is not rendered.`;
  return encode(new Map([["_errors", [sentence]]]), "raw");
}

/** A copy of the value; undefined if it is missing, None or an empty map. */
function filled(raw: Uint8Array | undefined): Uint8Array | undefined {
  const isEmpty = raw === undefined || raw[0] === emptyMapByte || raw[0] === noneByte;
  return isEmpty ? undefined : ownBytes(raw);
}

/** A copy in the new flavour. A view would clone the whole batch's memory to the other thread. */
function ownBytes(raw: Uint8Array): Uint8Array {
  return Uint8Array.from(rawToBin(raw));
}
