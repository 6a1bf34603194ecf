/**
 * `_pillar`: sends the minion's grains to the pillar lane. The pillar is stored for targeting, then the RSA lane seals it for this
 * minion alone. docs/protocol.md sections 2.3 and 7.1.
 */
import { isEncAlgorithm, isSigAlgorithm } from "../../crypto/rsa.ts";
import { encode } from "../../wire/msgpack.ts";
import { failedReply } from "../../wire/reply.ts";
import { rawToBin } from "../../wire/walk.ts";
import type { Shard } from "../holding/shard.ts";
import type { Answer, BatchEffects, Opened } from "./context.ts";
import { fieldBytes, textOf } from "./fields.ts";

const emptyPillar = encode(new Map(), "raw");
/** Salt's words for a minion whose key file is gone. */
const keyNotFound = encode({ error: "AES key not found" }, "raw");
/** An empty map: minions send it for no override. */
const emptyMapByte = 0x80;
const noneByte = 0xc0;
const trueByte = 0xc3;

export function handlePillar(shard: Shard, batch: BatchEffects, opened: Opened): Answer {
  const { load, entries, id, version, nonce, encAlgorithm, sigAlgorithm } = opened;
  if (id === undefined) return { value: new Map() };
  // Both stand outside the seal, where they can be changed on the way. As in Salt the request fails, before the pillar is rendered.
  if (!isEncAlgorithm(encAlgorithm) || (version >= 3 && !isSigAlgorithm(sigAlgorithm))) {
    shard.count("refused.algorithm");
    return { raw: failedReply };
  }
  const minionPem = shard.acceptedPem(id);
  if (minionPem === undefined) return { raw: keyNotFound };
  const reply = { version, nonce, encAlgorithm, sigAlgorithm, minionPem };
  const grains = fieldBytes(load, entries, "grains");
  // As in Salt a request without grains gets an empty pillar, in the same private form.
  if (grains === undefined)
    return { deferred: { kind: "rsa", task: { kind: "pillarReply", ...reply, pillar: emptyPillar } } };
  const extraData = fieldBytes(load, entries, "extra_minion_data");
  const bytes = grains.byteLength + (extraData?.byteLength ?? 0);
  shard.meter.noteSize("grains", bytes);
  if (bytes > shard.start.config.grains_max_bytes) {
    const pillar = refuseGrains(shard, batch, id, bytes);
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

/** Leaves the stored facts as they are. @returns a pillar with `_errors`, which minions show and on which they refuse state runs */
function refuseGrains(shard: Shard, batch: BatchEffects, id: string, bytes: number): Uint8Array {
  shard.count("grains.tooLarge");
  const bound = `grains_max_bytes (${shard.start.config.grains_max_bytes})`;
  batch.refuse(id, `a minion's grains are not kept, and its pillar is not rendered: they exceed ${bound}`);
  const sentence = `Grains and extra data of ${bytes} bytes exceed ${bound} of the master: they are not kept, and this pillar is not rendered.`;
  return encode(new Map([["_errors", [sentence]]]), "raw");
}

/** Undefined for a missing value, None or an empty map. */
function filled(raw: Uint8Array | undefined): Uint8Array | undefined {
  const isEmpty = raw === undefined || raw[0] === emptyMapByte || raw[0] === noneByte;
  return isEmpty ? undefined : ownBytes(raw);
}

/** A copy in the store's flavour. A view would take the whole batch along to the other thread. */
function ownBytes(raw: Uint8Array): Uint8Array {
  return Uint8Array.from(rawToBin(raw));
}
