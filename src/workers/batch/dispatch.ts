/** Opens a request and calls the handler of its command. The switch lists the commands that this master answers. docs/protocol.md section 7. */

import { type Crypticle, sealedBytes } from "../../crypto/crypticle.ts";
import type { Autosign } from "../../store/keys/autosign.ts";
import type { ByteWriter } from "../../wire/byte-writer.ts";
import { encode } from "../../wire/msgpack.ts";
import { beginRawReply } from "../../wire/reply.ts";
import { bufferOf } from "../../wire/walk.ts";
import type { AuthTask } from "../messages/batch.ts";
import { handleAuth } from "../requests/auth.ts";
import type { Answer, BatchEffects, DeferredWork, Opened } from "../requests/context.ts";
import { handleMinionEvent } from "../requests/events.ts";
import { fileCommands, handleFiles } from "../requests/files.ts";
import { handleMasterOpts } from "../requests/master-opts.ts";
import { handleMasterTops } from "../requests/master-tops.ts";
import { handleMine, handleMineDelete, handleMineFlush } from "../requests/mine.ts";
import { handleMineGet } from "../requests/mine-get.ts";
import { type OpenOutcome, openForwarded, openFrame } from "../requests/open.ts";
import { handleClear } from "../requests/operator-commands.ts";
import { handlePeer } from "../requests/peer.ts";
import { handlePillar } from "../requests/pillar.ts";
import { handleReturn } from "../requests/return.ts";
import { handleSyndicEvents } from "../requests/syndic/events.ts";
import { handleSyndicReturn } from "../requests/syndic/returns.ts";
import { emptyAnswers } from "../requests/unbuilt-commands.ts";
import type { WorkerState } from "../state/worker-state.ts";
import type { ReceivedItem } from "./frames.ts";
import { itemKinds } from "./frames.ts";

/** The outcome of an item: a reply, or work for another thread. `isStoring`: the reply is sent only if the batch's writes succeed. */
export type ItemOutcome =
  | { readonly isStoring: boolean }
  | { readonly reply: Buffer; readonly isStoring: boolean }
  | { readonly deferred: DeferredWork }
  | { readonly auth: AuthTask; readonly acceptedId: string | undefined };

/** Outcomes of items whose sealed reply is already in the batch's memory. */
const sealed: ItemOutcome = { isStoring: false };
const sealedStoring: ItemOutcome = { isStoring: true };

/** Commands whose reply confirms that the master stored something. */
const storingCommands = new Set(["_return", "_syndic_return", "_mine", "_mine_delete", "_mine_flush"]);

const shownCommandCharsMax = 200;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it hides
const controlCharacters = /[\u0000-\u001f\u007f]/g;

export function processItem(
  worker: WorkerState,
  autosign: Autosign,
  batch: BatchEffects,
  item: ReceivedItem,
): ItemOutcome {
  const outcome: OpenOutcome =
    item.kind === itemKinds.opened
      ? openForwarded(worker, batch, item, item.sealKey, item.bytes)
      : openFrame(worker, batch, item.bytes, item.kind !== itemKinds.ordinary);
  batch.clock.lap("open");
  if ("refused" in outcome) {
    worker.count(`refused.${outcome.refused}`);
    return { reply: outcome.reply, isStoring: false };
  }
  if ("forward" in outcome) return { deferred: { kind: "forward", ...outcome.forward } };
  batch.command = outcome.cmd;
  const isOverMinionsMax = item.kind === itemKinds.overMinionsMax;
  const answer = outcome.isClear
    ? answerClear(worker, autosign, batch, outcome, isOverMinionsMax)
    : answerSealed(worker, batch, outcome);
  worker.meter.noteRequest(outcome.cmd, "deferred" in answer || "auth" in answer ? "deferred" : "answered");
  batch.clock.lap("handle");
  const finished = finish(batch, outcome, answer, !outcome.isClear && storingCommands.has(outcome.cmd));
  batch.clock.lap("seal");
  return finished;
}

function answerClear(
  worker: WorkerState,
  autosign: Autosign,
  batch: BatchEffects,
  opened: Opened,
  isOverMinionsMax: boolean,
): Answer {
  if (opened.cmd === "_auth") return handleAuth(worker, autosign, batch, opened, isOverMinionsMax);
  worker.count("clearCommands");
  return handleClear(worker, batch, opened) ?? notExposed(batch, opened);
}

function answerSealed(worker: WorkerState, batch: BatchEffects, opened: Opened): Answer {
  switch (opened.cmd) {
    case "_return":
      return handleReturn(worker, batch, opened);
    case "_syndic_return":
      return handleSyndicReturn(worker, batch, opened);
    case "_minion_event":
      return handleSyndicEvents(worker, batch, opened) ?? handleMinionEvent(worker, batch, opened);
    case "_pillar":
      return handlePillar(worker, batch, opened);
    case "_mine":
      return handleMine(worker, batch, opened);
    case "_mine_get":
      return handleMineGet(worker, opened);
    case "_mine_delete":
      return handleMineDelete(worker, batch, opened);
    case "_mine_flush":
      return handleMineFlush(worker, batch, opened);
    case "_master_opts":
      return handleMasterOpts(worker, opened);
    case "_master_tops":
    case "_ext_nodes":
      return handleMasterTops(worker, opened);
    case "minion_pub":
    case "minion_publish":
    case "minion_runner":
    case "pub_ret":
      return handlePeer(worker, opened);
    case "revoke_auth":
      return revoke(worker, opened);
    default:
      if (fileCommands.has(opened.cmd)) return handleFiles(worker, opened);
      return emptyAnswers.has(opened.cmd) ? { value: emptyAnswers.get(opened.cmd) ?? null } : notExposed(batch, opened);
  }
}

/** Answers an empty map and logs Salt's line, which operators search for. The command is the client's text, so the line shows it cut and cleaned. */
function notExposed(batch: BatchEffects, { id, cmd }: Opened): Answer {
  const shown = cmd.slice(0, shownCommandCharsMax).replace(controlCharacters, "?");
  batch.refuse(id ?? "", `Requested method not exposed: ${shown}`, "error");
  return { value: new Map() };
}

/**
 * Removes the minion's own key. As in Salt, the reply echoes the request if `allow_minion_key_revoke` is off. An older request must prove its id
 * by a token, because all minions hold the key that seals it, so one minion could revoke another's key.
 */
function revoke(worker: WorkerState, opened: Opened): Answer {
  if (opened.id === undefined || !opened.isProven) return { value: new Map() };
  if (!worker.start.config.allow_minion_key_revoke) return { packed: opened.load };
  worker.stores.keys.remove("accepted", opened.id);
  return { value: true };
}

function finish(batch: BatchEffects, opened: Opened, answer: Answer, isStoring: boolean): ItemOutcome {
  if ("deferred" in answer || "auth" in answer) return answer;
  if ("raw" in answer) return { reply: answer.raw, isStoring };
  const packed = "packed" in answer ? answer.packed : encode(answer.value, "raw");
  if (opened.sealer === undefined) return { reply: bufferOf(packed), isStoring };
  writeSealedReply(batch.replies, opened.sealer, packed, opened.replyNonce);
  return isStoring ? sealedStoring : sealed;
}

/** Like `encodeRawReply` of a sealed reply, but without a copy, because every return's reply comes here. */
function writeSealedReply(replies: ByteWriter, sealer: Crypticle, packed: Uint8Array, nonce: string): void {
  const bytes = sealedBytes(packed.length, nonce.length);
  const start = beginRawReply(replies, bytes);
  sealer.sealTo(replies.bytes, start, packed, nonce);
}
