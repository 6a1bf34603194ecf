/**
 * `_pillar`: keeps the minion's grains for targeting and answers its pillar, sealed for it alone by the RSA lane.
 * Pillars are empty until pillar rendering exists. docs/protocol.md sections 2.3 and 7.1.
 */
import { encode } from "../../wire/msgpack.ts";
import { rawToBin } from "../../wire/walk.ts";
import type { Shard } from "../shard.ts";
import type { Answer, BatchEffects, Opened } from "./context.ts";
import { fieldBytes } from "./fields.ts";

const emptyPillar = encode(new Map(), "raw");
/** Salt's words for a minion whose key file is gone. */
const keyNotFound = encode({ error: "AES key not found" }, "raw");
const emptyPillarRecord = encode(new Map(), "bin");

export function handlePillar(shard: Shard, batch: BatchEffects, opened: Opened): Answer {
  const { load, entries, id } = opened;
  if (id === undefined) return { value: new Map() };
  const accepted = shard.acceptedKey(id);
  if (accepted === undefined) return { raw: keyNotFound };
  const grains = fieldBytes(load, entries, "grains");
  // As in Salt a request without grains gets an empty pillar, in the same private form.
  if (grains !== undefined && shard.start.config.minion_data_cache) {
    batch.writes.push(shard.stores.minions.putGrains(id, rawToBin(grains), emptyPillarRecord));
    shard.forgetFacts(id);
    batch.fire(`minion/refresh/${id}`, { "Minion data cache refresh": id });
  }
  return {
    deferred: {
      kind: "rsa",
      job: {
        kind: "pillarReply",
        version: opened.version,
        nonce: opened.nonce,
        encAlgorithm: opened.encAlgorithm,
        sigAlgorithm: opened.sigAlgorithm,
        minionPem: accepted.pem,
        pillar: emptyPillar,
      },
    },
  };
}
