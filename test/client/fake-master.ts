/**
 * A minimal master to test clients against: a request port that answers by command, and an event bus.
 * Each test supplies the answers. test/cli and test/interop check that the real master gives the same.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Router } from "zeromq";
import { apiKeyUser } from "../../src/config/api-key.ts";
import { ownUserName } from "../../src/config/host/user.ts";
import { loadMasterConfig, type MasterConfig } from "../../src/config/load.ts";
import { EventStreamServer } from "../../src/transport/event-stream-server.ts";
import { decodeEvent, encodeEvent, frameEvent, frameMasterEvent } from "../../src/wire/event.ts";
import { decode, encode } from "../../src/wire/msgpack.ts";
import { readEnvelope } from "../../src/wire/request.ts";
import type { Encodable, ValueMap } from "../../src/wire/values.ts";

export const localKey = "a key that only root can read";

/** undefined: no answer at all. */
export type ApiHandlers = { readonly [cmd: string]: Handler };
type Handler = (load: ValueMap, master: FakeMaster) => Encodable | undefined;

export class FakeMaster {
  readonly folder: string;
  readonly config: MasterConfig;
  readonly requests: ValueMap[] = [];
  readonly versions: number[] = [];
  readonly fired: { tag: string; data: ValueMap }[] = [];
  readonly #router: Router;
  #bus: EventStreamServer;
  readonly #handlers: { readonly [cmd: string]: Handler };

  private constructor(
    folder: string,
    config: MasterConfig,
    router: Router,
    bus: EventStreamServer,
    handlers: { readonly [cmd: string]: Handler },
  ) {
    this.folder = folder;
    this.config = config;
    this.#router = router;
    this.#bus = bus;
    this.#handlers = handlers;
  }

  static async start(handlers: { readonly [cmd: string]: Handler }): Promise<FakeMaster> {
    const folder = await mkdtemp(join(tmpdir(), "saltworks-fake-"));
    const router = new Router();
    await router.bind("tcp://127.0.0.1:0");
    const port = Number(new URL((router.lastEndpoint ?? "").replace("tcp:", "http:")).port);
    await writeFile(join(folder, "master"), masterFile(folder, port));
    const config = loadMasterConfig(folder);
    await mkdir(config.sock_dir, { recursive: true });
    await mkdir(config.cachedir, { recursive: true });
    for (const name of [config.user, apiKeyUser])
      await writeFile(join(config.cachedir, `.${name}_key`), localKey, { mode: 0o600 });
    const started: { master?: FakeMaster } = {};
    const bus = await listen(config, (body) => started.master?.fired.push(decodeEvent(body)));
    const master = new FakeMaster(folder, config, router, bus, handlers);
    started.master = master;
    void master.#serve();
    return master;
  }

  fire(tag: string, data: Encodable): void {
    this.#bus.publish(frameMasterEvent(encodeEvent(tag, data)));
  }

  /** Passes on an event of a minion, as a master does. */
  fireForMinion(tag: string, data: Encodable): void {
    this.#bus.publish(frameEvent(encodeEvent(tag, data)));
  }

  /** Fires a minion's return as a master does. */
  fireReturn(jid: string, id: string, value: Encodable, more: { readonly [name: string]: Encodable } = {}): void {
    const data = { cmd: "_return", id, success: true, return: value, retcode: 0, jid, fun: "test.ping", ...more };
    this.fire(`salt/job/${jid}/ret/${id}`, data);
  }

  fireDone(jid: string, returned: readonly string[], silent: { readonly [id: string]: string } = {}): void {
    this.fire(`saltworks/job/${jid}/done`, { jid, returned, silent });
  }

  closeBus(): Promise<void> {
    return this.#bus.close();
  }

  /** Acts like a restarted master: all subscribers are disconnected. */
  async reopenBus(): Promise<void> {
    await this.#bus.close();
    this.#bus = await listen(this.config, (body) => this.fired.push(decodeEvent(body)));
  }

  async stop(): Promise<void> {
    this.#router.close();
    await this.#bus.close();
    await rm(this.folder, { recursive: true });
  }

  async #serve(): Promise<void> {
    for await (const [identity, empty, payload] of this.#router) {
      if (!identity || !empty || !payload) continue;
      const envelope = readEnvelope(payload);
      const load = decode(envelope.load) as ValueMap;
      this.requests.push(load);
      this.versions.push(envelope.version);
      const answer = this.#handlers[String(load.get("cmd"))]?.(load, this);
      if (answer !== undefined) await this.#router.send([identity, empty, encode(answer, "raw")]);
    }
  }
}

function listen(config: MasterConfig, onEvent: (body: Uint8Array) => void): Promise<EventStreamServer> {
  return EventStreamServer.listen({
    pubPath: join(config.sock_dir, "master_event_pub.ipc"),
    pullPath: join(config.sock_dir, "master_event_pull.ipc"),
    pubMode: 0o660,
    pullMode: 0o600,
    subscriberBytesMax: 256 * 1024 * 1024,
    framingOf: () => Promise.resolve("plain"),
    onEvent,
  });
}

function masterFile(folder: string, port: number): string {
  const lines = [
    "interface: 127.0.0.1",
    `ret_port: ${port}`,
    `pki_dir: ${folder}/pki`,
    `cachedir: ${folder}/cache`,
    `sock_dir: ${folder}/run`,
    `log_file: ${folder}/log`,
    `user: ${ownUserName()}`,
    "timeout: 1",
  ];
  return `${lines.join("\n")}\n`;
}

/** A master's reply to a publish. */
export function accepted(jid: string, minions: readonly string[], missing: readonly string[] = []): Encodable {
  return { enc: "clear", load: { jid, minions, missing } };
}
