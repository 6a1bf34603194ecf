/**
 * Minions' requests to publish and to call runners: `minion_pub`, `minion_publish`, `minion_runner`, `pub_ret`. This file reads them and checks
 * their sizes. The main thread checks `peer` and `peer_run` and does the work. docs/protocol.md section 7.1.
 */
import { peerArgumentBytesMax, peerNameLengthMax, peerWaitMsMax } from "../../limits.ts";
import { DecodeBudget } from "../../wire/decoder.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { Value } from "../../wire/values.ts";
import type { PeerPublish, PeerRun } from "../messages/deferred.ts";
import type { WorkerState } from "../state/worker-state.ts";
import type { Answer, Opened } from "./context.ts";
import { field, fieldBytes, isCollection, scalarOf, textOf } from "./fields.ts";
import { parsedArguments } from "./peer-arguments.ts";
import { replySeal } from "./reply-seal.ts";

const nothing: Answer = { value: new Map() };
/** A job id has 20 digits; `unique_jid` appends `_` and a process id. */
const jidPattern = /^\d{20}(?:_\d{1,10})?$/;
const secondsPattern = /^\s*[+-]?\d{1,9}\s*$/;
const defaultTimeoutMs = 5_000;

/** Answers an empty map on each fault, as Salt does. An older request needs a token, because all minions hold the key that seals it. */
export function handlePeer(worker: WorkerState, opened: Opened): Answer {
  const { id, isProven, cmd } = opened;
  if (id === undefined || !isProven) return refused(worker, "unproven");
  const asked = { id, seal: replySeal(worker, opened) };
  if (cmd === "pub_ret") {
    const jid = textOf(opened.load, opened.entries, "jid");
    if (jid === undefined || !jidPattern.test(jid)) return refused(worker, "malformed");
    return { deferred: { kind: "peer", ask: { ...asked, command: "returns", jid } } };
  }
  const isRun = cmd === "minion_runner";
  const rules = isRun ? worker.start.config.peer_run : worker.start.config.peer;
  if (Object.keys(rules).length === 0) return refused(worker, "denied");
  const read = isRun ? readRun(opened) : readPublish(opened, cmd === "minion_publish");
  if (read === undefined) return refused(worker, "malformed");
  return { deferred: { kind: "peer", ask: { ...asked, ...read } } };
}

function refused(worker: WorkerState, reason: string): Answer {
  worker.count(`peers.${reason}`);
  return nothing;
}

function readRun(opened: Opened): PeerRun | undefined {
  const budget = DecodeBudget.ofRequest();
  const [fun, sent] = [nameIn(opened, "fun"), argumentsIn(opened, budget)];
  return fun === undefined || sent === undefined
    ? undefined
    : { command: "run", fun, arg: parsed(opened, sent, budget) };
}

/** Reads a publish. Refuses several functions at once (`a,b`); Salt fails on them. */
function readPublish(opened: Opened, isWaiting: boolean): PeerPublish | undefined {
  const { load, entries } = opened;
  const budget = DecodeBudget.ofRequest();
  const [fun, sent, target] = [nameIn(opened, "fun"), argumentsIn(opened, budget), targetIn(opened, budget)];
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
    arg: parsed(opened, sent, budget),
    target,
    targetKind,
    ret,
    wait: isWaiting ? { timeoutMs, isFull: textOf(load, entries, "form") === "full" } : undefined,
  };
}

function nameIn({ load, entries }: Opened, key: string): string | undefined {
  const name = textOf(load, entries, key);
  return name === undefined || name.length > peerNameLengthMax ? undefined : name;
}

function argumentsIn({ load, entries }: Opened, budget: DecodeBudget): readonly Value[] | undefined {
  const bytes = fieldBytes(load, entries, "arg");
  if (bytes === undefined || bytes.byteLength > peerArgumentBytesMax) return undefined;
  const sent = decode(bytes, "text", budget);
  return Array.isArray(sent) ? sent : undefined;
}

function parsed({ load, entries }: Opened, sent: readonly Value[], budget: DecodeBudget): Buffer {
  const noParse = field(load, entries, "no_parse", budget);
  return encode(parsedArguments(sent, Array.isArray(noParse) ? noParse : []), "raw");
}

/** The target in network encoding; undefined unless it is a text or a list of texts. */
function targetIn({ load, entries }: Opened, budget: DecodeBudget): Uint8Array | undefined {
  const target = field(load, entries, "tgt", budget);
  const isTarget =
    typeof target === "string" || (Array.isArray(target) && target.every((id) => typeof id === "string"));
  return isTarget ? encode(target, "raw") : undefined;
}

/** The wait from `timeout` or else `tmo`, in seconds as Python's `int()` reads them. Undefined if `int()` would fail. */
function timeoutIn({ load, entries }: Opened): number | undefined {
  let timeoutMs: number | undefined = defaultTimeoutMs;
  for (const key of ["tmo", "timeout"]) {
    if (isCollection(load, entries, key)) return undefined;
    const given = scalarOf(load, entries, key);
    if (given === undefined) continue;
    const isSeconds = typeof given === "number" || (typeof given === "string" && secondsPattern.test(given));
    if (!isSeconds) return undefined;
    timeoutMs = Math.trunc(Number(given)) * 1_000;
  }
  return Math.min(Math.max(0, timeoutMs), peerWaitMsMax);
}
