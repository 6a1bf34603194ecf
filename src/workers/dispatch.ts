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
import { handleMasterOpts } from "./requests/master-opts.ts";
import { handleMine, handleMineDelete, handleMineFlush } from "./requests/mine.ts";
import { type OpenOutcome, openForwarded, openFrame } from "./requests/open.ts";
import { handlePillar } from "./requests/pillar.ts";
import { handleReturn } from "./requests/return.ts";
import type { Shard } from "./shard.ts";

/** What an item becomes: bytes to send (`isStoring`: only if the batch's writes succeed), or work for somebody else. */
export type ItemOutcome = { readonly reply: Buffer; readonly isStoring: boolean } | { readonly deferred: DeferredWork };

/** Commands whose answer says that something is kept. */
const storingCommands = new Set(["_return", "_mine", "_mine_delete", "_mine_flush"]);

export function processItem(shard: Shard, autosign: Autosign, batch: BatchEffects, item: ReceivedItem): ItemOutcome {
  const outcome: OpenOutcome =
    item.kind === itemKinds.opened
      ? openForwarded(shard, batch, item.version, item.sealKey, item.bytes)
      : openFrame(shard, batch, item.bytes);
  if ("refused" in outcome) {
    shard.count(`refused.${outcome.refused}`);
    return { reply: outcome.reply, isStoring: false };
  }
  if ("forward" in outcome) return { deferred: { kind: "forward", ...outcome.forward } };
  if (outcome.isClear) {
    const isOverMinionsMax = item.kind === itemKinds.overMinionsMax;
    return finish(outcome, answerClear(shard, autosign, batch, outcome, isOverMinionsMax), false);
  }
  return finish(outcome, answerSealed(shard, batch, outcome), storingCommands.has(outcome.cmd));
}

function answerClear(
  shard: Shard,
  autosign: Autosign,
  batch: BatchEffects,
  opened: Opened,
  isOverMinionsMax: boolean,
): Answer {
  if (opened.cmd === "_auth") return handleAuth(shard, autosign, batch, opened, isOverMinionsMax);
  shard.count("clearCommands");
  return handleClear(shard, opened);
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

/**
 * A minion gives up its own key; the request comes back as it is if the master does not allow that, as in Salt. Older requests are
 * sealed under a key that all minions hold: without a token one could revoke another's.
 */
function revoke(shard: Shard, opened: Opened): Answer {
  if (opened.id === undefined || !opened.isProven) return { value: new Map() };
  if (!shard.start.config.allow_minion_key_revoke) return { packed: opened.load };
  shard.stores.keys.remove("accepted", opened.id);
  return { value: true };
}

function finish(opened: Opened, answer: Answer, isStoring: boolean): ItemOutcome {
  if ("deferred" in answer) return { deferred: answer.deferred };
  if ("raw" in answer) return { reply: answer.raw, isStoring };
  return { reply: opened.seal("packed" in answer ? answer.packed : encode(answer.value, "raw")), isStoring };
}
