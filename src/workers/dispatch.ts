/** From an opened request to its handler: the list of commands that this master answers. docs/protocol.md section 7. */
import type { Autosign } from "../store/autosign.ts";
import { encode } from "../wire/msgpack.ts";
import type { ReceivedItem } from "./batch.ts";
import { itemKinds } from "./messages.ts";
import { handleAuth } from "./requests/auth.ts";
import { handleClear } from "./requests/clear.ts";
import type { Answer, BatchEffects, DeferredWork, Opened } from "./requests/context.ts";
import { emptyAnswers } from "./requests/empty.ts";
import { handleMinionEvent } from "./requests/events.ts";
import { field } from "./requests/fields.ts";
import { handleMasterOpts } from "./requests/master-opts.ts";
import { handleMine, handleMineDelete, handleMineFlush } from "./requests/mine.ts";
import { type OpenOutcome, openForwarded, openFrame } from "./requests/open.ts";
import { handlePillar } from "./requests/pillar.ts";
import { handleReturn } from "./requests/return.ts";
import type { Shard } from "./shard.ts";

/** What an item becomes: bytes to send when the batch is durable, or work for somebody else. */
export type ItemOutcome = { readonly reply: Buffer; readonly isReturn: boolean } | { readonly deferred: DeferredWork };

const packedNil = encode(null, "raw");

export function processItem(shard: Shard, autosign: Autosign, batch: BatchEffects, item: ReceivedItem): ItemOutcome {
  const outcome: OpenOutcome =
    item.kind === itemKinds.opened
      ? openForwarded(shard, batch, item.version, item.sealKey, item.bytes)
      : openFrame(shard, batch, item.bytes);
  if ("refused" in outcome) {
    shard.count(`refused.${outcome.refused}`);
    return { reply: outcome.reply, isReturn: false };
  }
  if ("forward" in outcome) return { deferred: { kind: "forward", ...outcome.forward } };
  if (outcome.isClear) return answerClear(shard, autosign, batch, outcome, item.kind === itemKinds.overMinionsMax);
  return finish(outcome, answerSealed(shard, batch, outcome), outcome.cmd === "_return");
}

function answerClear(
  shard: Shard,
  autosign: Autosign,
  batch: BatchEffects,
  opened: Opened,
  isOverMinionsMax: boolean,
): ItemOutcome {
  if (opened.cmd !== "_auth") {
    shard.count("clearCommands");
    return finish(opened, handleClear(shard, opened), false);
  }
  const outcome = handleAuth(shard, autosign, batch, opened, isOverMinionsMax);
  return "raw" in outcome ? { reply: outcome.raw, isReturn: false } : finish(opened, outcome, false);
}

function answerSealed(shard: Shard, batch: BatchEffects, opened: Opened): Answer {
  switch (opened.cmd) {
    case "_return":
      return handleReturn(shard, batch, opened);
    case "_minion_event":
      return handleMinionEvent(shard, batch, opened);
    case "_pillar":
      return handlePillar(shard, batch, opened);
    case "_mine":
      return handleMine(shard, batch, opened);
    case "_mine_delete":
      return handleMineDelete(shard, batch, opened);
    case "_mine_flush":
      return handleMineFlush(shard, batch, opened);
    case "_master_opts":
      return handleMasterOpts(shard, opened);
    case "revoke_auth":
      return revoke(shard, opened);
    default:
      return { value: emptyAnswers.get(opened.cmd) ?? new Map() };
  }
}

/** A minion gives up its own key; the request comes back unanswered if the master does not allow that, as in Salt. */
function revoke(shard: Shard, opened: Opened): Answer {
  if (opened.id === undefined) return { value: new Map() };
  if (!shard.start.config.allow_minion_key_revoke) {
    return {
      value: new Map(
        opened.entries.map((entry) => [entry.key ?? null, field(opened.load, opened.entries, entry.key ?? "") ?? null]),
      ),
    };
  }
  shard.stores.keys.remove("accepted", opened.id);
  return { value: true };
}

function finish(opened: Opened, answer: Answer, isReturn: boolean): ItemOutcome {
  if ("deferred" in answer) return { deferred: answer.deferred };
  const packed = answer.value === null ? packedNil : encode(answer.value, "raw");
  return { reply: opened.seal(packed), isReturn };
}
