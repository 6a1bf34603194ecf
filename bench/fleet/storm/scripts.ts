/** Work of a lane in which each minion sends a list of requests in order, each when the one before it is answered. */
import type { Value } from "../../../src/wire/values.ts";
import { openPrivateReply, openReply, sealRequest } from "../sealed-request.ts";
import type { Load } from "./messages.ts";
import type { StormMinion } from "./storm-minion.ts";
import { opened, type Verdict, type Work } from "./work.ts";
import { requestBytes } from "./zmtp.ts";

/** The shortest sealed reply. */
const replyBytesMin = 64;

/** `scripts`: one for each minion, all of the same length. Request `index` is step `index / minions` of minion `index % minions`. */
export function scriptsWork(minions: readonly StormMinion[], scripts: readonly (readonly Load[])[]): Work {
  const steps = scripts[0]?.length ?? 0;
  if (scripts.length !== minions.length || scripts.some(({ length }) => length !== steps))
    throw new RangeError("each minion needs a script, and all scripts the same length");
  const count = minions.length * steps;
  const askOf = (index: number): { minion: StormMinion; load: Load } => {
    const at = index % minions.length;
    const [minion, load] = [minions[at], scripts[at]?.[Math.floor(index / minions.length)]];
    if (minion === undefined || load === undefined) throw new RangeError(`no request ${index}`);
    return { minion, load };
  };
  const sealed = Array.from({ length: count }, (_, index) => {
    const { minion, load } = askOf(index);
    // Salt's channel adds the id to every load.
    const { frame, nonce } = sealRequest({ ...load, id: minion.sender.id }, minion.sender, minion.keys);
    return { frame: requestBytes(frame), nonce };
  });
  return {
    count,
    sealedAhead: count,
    minion: (index) => index % minions.length,
    frame: (index) => sealed[index]?.frame ?? Buffer.alloc(0),
    isPlausible: (payload) => payload.length >= replyBytesMin,
    check: (index, payload) => {
      const { minion, load } = askOf(index);
      const nonce = sealed[index]?.nonce ?? "";
      const { sender, keys, master } = minion;
      const value = opened(() =>
        load.cmd === "_pillar" && master !== undefined
          ? openPrivateReply(payload, nonce, sender, master)
          : openReply(payload, nonce, sender, keys),
      );
      return value === undefined ? "wrong" : judge(load, value);
    },
  };
}

/** What a stock minion needs of a reply to go on. */
function judge({ cmd, loc }: Load, value: Value): Verdict {
  switch (cmd) {
    case "_return":
      return value === null ? "right" : "wrong";
    case "_file_list":
    case "_file_envs":
      return Array.isArray(value) ? (value.length > 0 ? "right" : "empty") : "wrong";
    case "_file_hash":
      return value instanceof Map && value.has("hsum") ? "right" : "empty";
    case "_file_find":
      return value instanceof Map && value.get("path") !== "" ? "right" : "empty";
    case "_serve_file": {
      const data = value instanceof Map ? value.get("data") : undefined;
      if (typeof data !== "string" && !(data instanceof Uint8Array)) return "wrong";
      return data.length > 0 || loc !== 0 ? "right" : "empty";
    }
    default:
      return value instanceof Map ? "right" : "wrong";
  }
}
