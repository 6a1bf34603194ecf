/**
 * Minions' requests to publish and to call runners: `minion_pub`, `minion_publish`, `minion_runner`, `pub_ret`. They are read and bounded here.
 * The main thread checks `peer` and `peer_run` and does the work. docs/protocol.md section 7.1.
 */
import { peerArgumentBytesMax, peerNameLengthMax, peerWaitMsMax } from "../../limits.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { Value } from "../../wire/values.ts";
import type { Shard } from "../holding/shard.ts";
import type { PeerPublish, PeerRun } from "../messages/deferred.ts";
import type { Answer, Opened } from "./context.ts";
import { field, fieldBytes, textOf } from "./fields.ts";
import { parsedArguments } from "./peer-arguments.ts";
import { replySeal } from "./reply-seal.ts";

const nothing: Answer = { value: new Map() };
/** Job ids have 20 digits; `unique_jid` adds a process id. */
const jidPattern = /^\d{20}(?:_\d{1,10})?$/;
const secondsPattern = /^\s*[+-]?\d{1,9}\s*$/;
const defaultTimeoutMs = 5_000;

/** Answers an empty map for each fault, as Salt does. Older requests need a token: all minions hold the key that seals them. */
export function handlePeer(shard: Shard, opened: Opened): Answer {
  const { id, isProven, cmd } = opened;
  if (id === undefined || !isProven) return refused(shard, "unproven");
  const asked = { id, seal: replySeal(shard, opened) };
  if (cmd === "pub_ret") {
    const jid = textOf(opened.load, opened.entries, "jid");
    if (jid === undefined || !jidPattern.test(jid)) return refused(shard, "malformed");
    return { deferred: { kind: "peer", ask: { ...asked, command: "returns", jid } } };
  }
  const isRun = cmd === "minion_runner";
  const rules = isRun ? shard.start.config.peer_run : shard.start.config.peer;
  if (Object.keys(rules).length === 0) return refused(shard, "denied");
  const read = isRun ? readRun(opened) : readPublish(opened, cmd === "minion_publish");
  if (read === undefined) return refused(shard, "malformed");
  return { deferred: { kind: "peer", ask: { ...asked, ...read } } };
}

function refused(shard: Shard, reason: string): Answer {
  shard.count(`peers.${reason}`);
  return nothing;
}

function readRun(opened: Opened): PeerRun | undefined {
  const [fun, sent] = [nameIn(opened, "fun"), argumentsIn(opened)];
  return fun === undefined || sent === undefined ? undefined : { command: "run", fun, arg: parsed(opened, sent) };
}

/** Refuses several functions at once (`a,b`), on which Salt fails, too. */
function readPublish(opened: Opened, isWaiting: boolean): PeerPublish | undefined {
  const { load, entries } = opened;
  const [fun, sent, target] = [nameIn(opened, "fun"), argumentsIn(opened), targetIn(opened)];
  const ret = nameIn(opened, "ret");
  const targetKind = fieldBytes(load, entries, "tgt_type") === undefined ? "glob" : nameIn(opened, "tgt_type");
  if (fun === undefined || fun.includes(",") || sent === undefined || target === undefined) return undefined;
  if (ret === undefined || targetKind === undefined) return undefined;
  const timeoutMs = isWaiting ? timeoutIn(opened) : 0;
  if (timeoutMs === undefined) return undefined;
  return {
    command: "publish",
    fun,
    sent: encode(sent, "raw"),
    arg: parsed(opened, sent),
    target,
    targetKind,
    ret,
    wait: isWaiting ? { timeoutMs, isFull: field(load, entries, "form") === "full" } : undefined,
  };
}

function nameIn({ load, entries }: Opened, key: string): string | undefined {
  const name = textOf(load, entries, key);
  return name === undefined || name.length > peerNameLengthMax ? undefined : name;
}

function argumentsIn({ load, entries }: Opened): readonly Value[] | undefined {
  const bytes = fieldBytes(load, entries, "arg");
  if (bytes === undefined || bytes.byteLength > peerArgumentBytesMax) return undefined;
  const sent = decode(bytes);
  return Array.isArray(sent) ? sent : undefined;
}

function parsed({ load, entries }: Opened, sent: readonly Value[]): Buffer {
  const noParse = field(load, entries, "no_parse");
  return encode(parsedArguments(sent, Array.isArray(noParse) ? noParse : []), "raw");
}

/** The target in network encoding; undefined unless it is a text or a list of texts. */
function targetIn({ load, entries }: Opened): Uint8Array | undefined {
  const target = field(load, entries, "tgt");
  const isTarget =
    typeof target === "string" || (Array.isArray(target) && target.every((id) => typeof id === "string"));
  return isTarget ? encode(target, "raw") : undefined;
}

/** `timeout`, or `tmo`: whole seconds as Python's `int()` reads them; undefined if it cannot. */
function timeoutIn({ load, entries }: Opened): number | undefined {
  let timeoutMs: number | undefined = defaultTimeoutMs;
  for (const key of ["tmo", "timeout"]) {
    const given = field(load, entries, key);
    if (given === undefined) continue;
    const isSeconds = typeof given === "number" || (typeof given === "string" && secondsPattern.test(given));
    if (!isSeconds) return undefined;
    timeoutMs = Math.trunc(Number(given)) * 1_000;
  }
  return Math.min(Math.max(0, timeoutMs), peerWaitMsMax);
}
