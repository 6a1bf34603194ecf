/** Work of a storm's lane: its framed requests by index, and the checks of their replies. */
import { SaltworksError } from "../../../src/errors.ts";
import type { Encodable, Value, ValueMap } from "../../../src/wire/values.ts";
import { type Distribution, draw } from "../../load/distribution.ts";
import { seededRandom } from "../../load/random.ts";
import { stampNow } from "../answers.ts";
import { type AuthAttempt, finishAuth, startAuth } from "../handshake.ts";
import { openPrivateReply, openReply, type Sender, sealRequest } from "../sealed-request.ts";
import type { Asking, PrepareJobReturns } from "./messages.ts";
import type { StormMinion } from "./storm-minion.ts";
import { requestBytes } from "./zmtp.ts";

export type Work = {
  readonly count: number;
  /** Number of requests that were sealed ahead. */
  readonly sealedAhead: number;
  /** Which minion's request it is. */
  minion(index: number): number;
  frame(index: number): Buffer;
  /** Checks cheaply whether this can be the reply. */
  isPlausible(payload: Buffer): boolean;
  /** Makes all checks of a real minion. "empty": the reply opens, but is empty although it should not be. */
  check(index: number, payload: Buffer): Verdict;
};

export type Verdict = "right" | "empty" | "wrong";

const nonceChars = 32;
/** "bad load" and other refusals are a few bytes. The shortest sealed reply is one of version 0: 64 bytes and its head. */
const sealedReplyBytesMin = 64;

/** Request `index` is of job `index / minions` and minion `index % minions`, so that a minion's returns are far apart. */
export function returnsWork(
  minions: readonly StormMinion[],
  o: { jids: readonly string[]; fun: string; returnBytes: Distribution; seed: number; sealedBytesMax: number },
): Work {
  const count = minions.length * o.jids.length;
  const random = seededRandom(o.seed);
  const bytes = Uint32Array.from({ length: count }, () => draw(o.returnBytes, random));
  const minion = Uint32Array.from(bytes, (_, index) => index % minions.length);
  const job = Uint32Array.from(bytes, (_, index) => Math.floor(index / minions.length));
  return jobReturnsWork(minions, { ...o, returns: { job, minion, bytes } });
}

export function jobReturnsWork(
  minions: readonly StormMinion[],
  o: Pick<PrepareJobReturns, "jids" | "fun" | "returns" | "sealedBytesMax">,
): Work {
  const { returns } = o;
  const count = returns.job.length;
  const minionOf = (index: number): number => returns.minion[index] ?? 0;
  const frames: (Buffer | undefined)[] = new Array(count);
  const nonces = Buffer.alloc(count * nonceChars);
  const values = new Map<number, string>();
  const _stamp = stampNow();
  const seal = (index: number): Buffer => {
    const minion = at(minions, minionOf(index));
    const jid = at(o.jids, returns.job[index] ?? 0);
    const load = {
      cmd: "_return",
      id: minion.sender.id,
      success: true,
      return: textOf(values, returns.bytes[index] ?? 0),
      retcode: 0,
      jid,
      fun: o.fun,
      fun_args: [],
      user: "root",
      _stamp,
    };
    const { frame, nonce } = sealRequest(load, minion.sender, minion.keys);
    nonces.write(nonce, index * nonceChars, "latin1");
    return requestBytes(frame);
  };
  let sealedAhead = 0;
  for (let bytes = 0; sealedAhead < count && bytes < o.sealedBytesMax; sealedAhead += 1) {
    const frame = seal(sealedAhead);
    frames[sealedAhead] = frame;
    bytes += frame.length;
  }
  return {
    count,
    sealedAhead,
    minion: minionOf,
    frame: (index) => frames[index] ?? seal(index),
    isPlausible: (payload) => payload.length >= sealedReplyBytesMin,
    check: (index, payload) => {
      const { sender, keys } = at(minions, minionOf(index));
      const nonce = nonces.toString("latin1", index * nonceChars, (index + 1) * nonceChars);
      return opened(() => openReply(payload, nonce, sender, keys)) === null ? "right" : "wrong";
    },
  };
}

/** Sizes repeat, so each size's text is made once. */
function textOf(values: Map<number, string>, bytes: number): string | true {
  if (bytes === 0) return true;
  let value = values.get(bytes);
  if (value === undefined) {
    value = "x".repeat(bytes);
    if (values.size < valuesKeptMax) values.set(bytes, value);
  }
  return value;
}

const valuesKeptMax = 64;
/** An auth reply without keys is a few bytes and, from version 2 on, a signature. */
const acceptedReplyBytesMin = 900;

export function authsWork(minions: readonly StormMinion[], o: { rounds: number; hasToken: boolean }): Work {
  const count = minions.length * o.rounds;
  const attempts: AuthAttempt[] = [];
  for (let index = 0; index < count; index += 1) {
    const { sender, master } = at(minions, index % minions.length);
    attempts.push(startAuth(sender.id, sender.key, sender.version, o.hasToken ? master : undefined));
  }
  const frames = attempts.map(({ request }) => requestBytes(request));
  return {
    count,
    sealedAhead: count,
    minion: (index) => index % minions.length,
    frame: (index) => at(frames, index),
    isPlausible: (payload) => payload.length >= acceptedReplyBytesMin,
    check: (index, payload) => {
      const { sender, master } = at(minions, index % minions.length);
      const outcome = opened(() => finishAuth(at(attempts, index), payload, sender.key, sender.version, master));
      return outcome?.kind === "accepted" ? "right" : "wrong";
    },
  };
}

export function asksWork(
  minions: readonly StormMinion[],
  o: { asking: Asking; rounds: number; target: string; textBytes: number; sealedBytesMax: number },
): Work {
  const text = "x".repeat(o.textBytes);
  const count = minions.length * o.rounds;
  const sealed: { readonly frame: Buffer; readonly nonce: string }[] = [];
  const nonces = new Map<number, string>();
  const seal = (index: number) => {
    const { sender, keys } = at(minions, index % minions.length);
    const { frame, nonce } = sealRequest(withToken(askLoad(o.asking, sender.id, o.target, text), sender), sender, keys);
    return { frame: requestBytes(frame), nonce };
  };
  for (let bytes = 0; sealed.length < count && bytes < o.sealedBytesMax; ) {
    const next = seal(sealed.length);
    sealed.push(next);
    bytes += next.frame.length;
  }
  return {
    count,
    sealedAhead: sealed.length,
    minion: (index) => index % minions.length,
    frame: (index) => {
      const ahead = sealed[index];
      if (ahead !== undefined) return ahead.frame;
      const late = seal(index);
      nonces.set(index, late.nonce);
      return late.frame;
    },
    isPlausible: (payload) => payload.length >= sealedReplyBytesMin,
    check: (index, payload) => {
      const { sender, keys, master } = at(minions, index % minions.length);
      const nonce = sealed[index]?.nonce ?? nonces.get(index) ?? "";
      if (o.asking !== "_pillar") {
        return judge(
          o.asking,
          opened(() => openReply(payload, nonce, sender, keys)),
        );
      }
      if (master === undefined) return "wrong";
      return opened(() => openPrivateReply(payload, nonce, sender, master)) instanceof Map ? "right" : "wrong";
    },
  };
}

function judge(asking: Asking, value: Value | undefined): Verdict {
  if (asking === "_mine_get") return value instanceof Map ? (value.size > 0 ? "right" : "empty") : "wrong";
  if (asking === "_mine") return value === true ? "right" : "wrong";
  if (asking === "_serve_file") return value instanceof Map ? (isEmptyPiece(value) ? "empty" : "right") : "wrong";
  return value === undefined ? "wrong" : "right";
}

/** Minions of versions before 3 prove themselves in these requests by a member of the load, which version 3 adds to every request. */
const tokenCommands: readonly unknown[] = ["_mine", "_mine_get", "_minion_event"];

function withToken(load: ReturnType<typeof askLoad>, { token, version }: Sender): ReturnType<typeof askLoad> {
  return version < 3 && tokenCommands.includes(load.cmd) ? { ...load, tok: token } : load;
}

function askLoad(asking: Asking, id: string, target: string, text: string): { readonly [key: string]: Encodable } {
  switch (asking) {
    case "_mine":
      return { cmd: "_mine", id, data: { [mineFunction]: text } };
    case "_mine_get":
      return { cmd: "_mine_get", id, tgt: target, fun: mineFunction, tgt_type: "glob" };
    case "_minion_event":
      return { cmd: "_minion_event", id, tag: "bench/event", data: { text }, pretag: null };
    case "_serve_file":
      return { cmd: "_serve_file", id, path: target, saltenv: "base", loc: 0 };
    case "_pillar": {
      const none = { saltenv: null, pillarenv: null, pillar_override: {}, extra_minion_data: {} };
      return { cmd: "_pillar", id, grains: { id }, ...none, ver: "2" };
    }
    default: {
      const never: never = asking;
      throw new TypeError(`unknown request ${String(never)}`);
    }
  }
}

const mineFunction = "bench.text";

function isEmptyPiece(reply: ValueMap): boolean {
  const data = reply.get("data");
  return !(data instanceof Uint8Array || typeof data === "string") || data.length === 0;
}

/** The result of `open`; undefined if the reply does not open. Other errors are thrown as faults of the bench. */
export function opened<Result>(open: () => Result): Result | undefined {
  try {
    return open();
  } catch (error) {
    if (error instanceof SaltworksError) return undefined;
    throw error;
  }
}

function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) throw new RangeError(`no item ${index}`);
  return item;
}
