/**
 * The local operator's clear requests, in the form that every release of Salt's master and ours answer the same way.
 * Source: docs/protocol.md sections 7.2 and 11.2.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ownUserName } from "../src/config/host/user.ts";
import { SaltworksError } from "../src/errors.ts";
import { RequestChannel } from "../src/transport/request-channel.ts";
import { listField, mapField, textField } from "../src/wire/fields.ts";
import { decode } from "../src/wire/msgpack.ts";
import { encodeClearRequest } from "../src/wire/request.ts";
import type { Encodable, Value, ValueMap } from "../src/wire/values.ts";

/** Timeout: a publish to thousands is expanded and stored before its answer. */
const requestTimeoutMs = 30_000;
const pingTimeoutMs = 1_000;
/** Accepted by every current release; older masters ignore it. */
const requestVersion = 3;

export type Job = { readonly jid: string; readonly minions: readonly string[] };

export class LocalClient {
  readonly #channel: RequestChannel;
  readonly #keyFile: string;

  /** `user`: whose key proves the operator; default the user of this process. */
  constructor(o: { requestPort: number; cacheDirectory: string; host?: string; user?: string }) {
    this.#channel = new RequestChannel({
      endpoint: `tcp://${o.host?.includes(":") ? `[${o.host}]` : (o.host ?? "127.0.0.1")}:${o.requestPort}`,
      timeoutMs: requestTimeoutMs,
      tries: 1,
    });
    this.#keyFile = join(o.cacheDirectory, `.${o.user ?? ownUserName()}_key`);
  }

  /** @throws SaltworksError REQUEST_TIMEOUT while no master answers */
  async ping(): Promise<void> {
    await this.#channel.request(encodeClearRequest({ cmd: "ping" }, requestVersion), { timeoutMs: pingTimeoutMs });
  }

  /**
   * `wantedJid`: a job id that the caller chose. `more`: `kwargs` of our own clients, such as `batch`.
   *
   * @throws SaltworksError REQUEST_REFUSED if the master did not publish
   */
  async publish(
    tgt: string | readonly string[],
    fun: string,
    arg: readonly Encodable[] = [],
    targetKind = "glob",
    wantedJid = "",
    more: { readonly [name: string]: Encodable } = {},
  ): Promise<Job> {
    const kwargs = { show_timeout: true, show_jid: false, delimiter: ":", ...more };
    const rest = { tgt_type: targetKind, ret: "", jid: wantedJid, kwargs, user: "root" };
    const reply = await this.#ask({ cmd: "publish", tgt, fun, arg, key: this.#key(), ...rest });
    const load = mapField(reply, "load");
    const jid = load && textField(load, "jid");
    if (load === undefined || jid === undefined) {
      const why = (load && textField(load, "error")) ?? "";
      throw new SaltworksError(
        "REQUEST_REFUSED",
        `publish of ${fun} to ${String(tgt).slice(0, 200)} was refused: ${why}`,
      );
    }
    const minions = (listField(load, "minions") ?? []).filter((id) => typeof id === "string");
    return { jid, minions };
  }

  /** The `return` of a wheel function. @throws SaltworksError REQUEST_REFUSED */
  async wheel(fun: string, kwargs: { readonly [key: string]: Encodable } = {}): Promise<Value> {
    const reply = await this.#ask({ cmd: "wheel", fun, key: this.#key(), user: "root", ...kwargs });
    const data = mapField(reply, "data");
    const value = data?.get("return");
    if (value === undefined) throw new SaltworksError("REQUEST_REFUSED", `wheel ${fun} gave no return`);
    return value;
  }

  /** Waits for the result of a runner function. */
  async runner(
    fun: string,
    arg: readonly Encodable[] = [],
  ): Promise<{ readonly isSuccess: boolean; readonly value: Value }> {
    const reply = await this.#ask({ cmd: "runner", fun, arg, sync: true, key: this.#key(), user: "root" });
    const data = mapField(reply, "data");
    return { isSuccess: data?.get("success") === true, value: data?.get("return") ?? null };
  }

  close(): void {
    this.#channel.close();
  }

  async #ask(load: Encodable): Promise<ValueMap> {
    const reply = decode(await this.#channel.request(encodeClearRequest(load, requestVersion)));
    if (!(reply instanceof Map)) throw new SaltworksError("REQUEST_REFUSED", "the master refused the request");
    return reply;
  }

  /** Read for each request, because a master may write a new key when it starts. */
  #key(): string {
    return readFileSync(this.#keyFile, "utf8").trim();
  }
}
