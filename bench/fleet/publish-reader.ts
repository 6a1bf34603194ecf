/**
 * Publishes as simulated minions read them. A process opens a publish once, because its bytes are the same for all minions,
 * and compares it with each minion's own key, serial and facts.
 * Source: docs/protocol.md sections 2.4 and 6.1.
 */
import { verify } from "../../src/crypto/rsa.ts";
import { parseTarget, type Target } from "../../src/target/parse.ts";
import { intField, listField, textField } from "../../src/wire/fields.ts";
import { decode } from "../../src/wire/msgpack.ts";
import { decodePublish } from "../../src/wire/publish.ts";
import type { Value, ValueMap } from "../../src/wire/values.ts";
import { type Master, type SealingKey, sigAlgorithm } from "./handshake.ts";

export type Publish = {
  readonly jid: string;
  /** One function name, or a list for a job of several functions. */
  readonly fun: string | readonly string[];
  readonly arg: readonly Value[];
  readonly ret: string;
  readonly user: string | undefined;
  readonly serial: number;
  readonly target: Target;
  /** The load as it came, for `find_job`. */
  readonly load: ValueMap;
};

/** Publishes to keep. Few are under way at once: jobs and their `find_job`s. */
const keptMax = 8;

export class PublishReader {
  readonly #kept: { readonly frame: Buffer; readonly key: string; readonly publish: Publish | undefined }[] = [];
  readonly #onUnsigned: () => void;

  constructor(onUnsigned: () => void) {
    this.#onUnsigned = onUnsigned;
  }

  /**
   * @returns undefined for a load without the members that a minion needs; a minion ignores it
   * @throws SaltworksError CRYPTO_BAD_MAC for one sealed under another key, TARGET_INVALID, and what decoding throws
   */
  read(frame: Buffer, aes: SealingKey, master: Master): Publish | undefined {
    for (const kept of this.#kept) {
      if (kept.key === aes.text && kept.frame.equals(frame)) return kept.publish;
    }
    const outer = decodePublish(frame);
    const load = decode(aes.crypticle.open(outer.load));
    if (outer.sig !== undefined && !verify(master.publicKey, outer.load, outer.sig, sigAlgorithm)) this.#onUnsigned();
    const publish = load instanceof Map ? readLoad(load) : undefined;
    this.#kept.unshift({ frame, key: aes.text, publish });
    if (this.#kept.length > keptMax) this.#kept.pop();
    return publish;
  }
}

function readLoad(load: ValueMap): Publish | undefined {
  const jid = textField(load, "jid");
  const ret = textField(load, "ret");
  const arg = listField(load, "arg");
  const fun = load.get("fun");
  const tgt = load.get("tgt");
  if (jid === undefined || ret === undefined || arg === undefined || !isTextOrTexts(fun) || !isTextOrTexts(tgt)) {
    return undefined;
  }
  return {
    jid,
    fun,
    arg,
    ret,
    user: textField(load, "user"),
    serial: intField(load, "serial") ?? 0,
    target: parseTarget(textField(load, "tgt_type") ?? "glob", tgt, textField(load, "delimiter")),
    load,
  };
}

function isTextOrTexts(value: Value | undefined): value is string | string[] {
  return typeof value === "string" || (Array.isArray(value) && value.every((item) => typeof item === "string"));
}
