/**
 * The minion's connection to one master: the session, the publish subscription, and the events and data that the minion sends.
 * Source: docs/protocol.md sections 7.1 and 8.
 */
import type { Logger } from "pino";
import type { MinionConfig } from "../../config/schema.ts";
import { hasCode } from "../../errors.ts";
import { RequestChannel } from "../../transport/request-channel.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import { asctime, now, stampText } from "../functions/clock-text.ts";
import type { Identity } from "./identity.ts";
import { endpointOf, type MasterAddress } from "./master-address.ts";
import { type Load, Session } from "./session.ts";
import { signIn } from "./sign-in.ts";
import { Subscriber } from "./subscriber.ts";

export type MasterLinkOptions = {
  readonly config: MinionConfig;
  readonly identity: Identity;
  readonly log: Logger;
  readonly address: MasterAddress;
  readonly grains: () => ValueMap;
  /** Called with the error of `signIn` if the minion must end. */
  readonly onEnd: (error: unknown) => void;
  readonly isOneTry?: boolean;
};

const peerCommands: ReadonlySet<string> = new Set(["minion_pub", "pub_ret", "minion_runner"]);
/** Salt's timeout for an event and the master's reply. */
const eventTimeoutMs = 60_000;

export class MasterLink {
  readonly session: Session;
  readonly #options: MasterLinkOptions;
  readonly #closing = new AbortController();
  #subscriber: Subscriber | undefined;

  constructor(options: MasterLinkOptions) {
    this.#options = options;
    const { config, identity, log, address, grains, onEnd, isOneTry = false } = options;
    const { signal } = this.#closing;
    const openChannel = () => openRequestChannel(config, address);
    this.session = new Session({
      config,
      identity,
      log,
      openChannel,
      signIn: () => signIn({ config, identity, log, openChannel, grains, signal, isOneTry }),
      onEnd,
      signal,
    });
  }

  /** Authenticates, then connects to the publish port. From then on the socket queues publishes for `listen`. */
  async connect(): Promise<void> {
    await this.session.authenticate();
    const { config, address } = this.#options;
    const port = ownPublishPort(config) ?? this.session.publishPort ?? 0;
    this.#subscriber = new Subscriber(endpointOf(address.host, port), config);
  }

  /** Calls `onPublish` with each publish that decrypts and verifies, until `close`. */
  async listen(onPublish: (load: ValueMap) => void): Promise<void> {
    if (this.#subscriber === undefined) return;
    for await (const frame of this.#subscriber.frames()) {
      const load = await this.session.openPublish(frame);
      if (load !== undefined) onPublish(load);
    }
  }

  close(): void {
    this.#closing.abort();
    this.#subscriber?.close();
    this.session.close();
  }

  /** Sends one event; logs a failure. @returns whether the master accepted the event */
  async fireEvent(tag: string, data: Encodable, grains?: Encodable): Promise<boolean> {
    return await this.#sendEvent({ pretag: null, data, tag, grains });
  }

  /** Sends one event without `pretag`, the form of programs other than the minion's daemon. */
  async fireLoneEvent(tag: string, data: Encodable): Promise<boolean> {
    return await this.#sendEvent({ tag, data });
  }

  /** Sends several events in one request. The master fires each under its own tag and, with `pretag`, again below that tag. */
  async fireEvents(events: Encodable, pretag: Encodable): Promise<boolean> {
    return await this.#sendEvent({ pretag, events });
  }

  async #sendEvent({ pretag, ...members }: Load): Promise<boolean> {
    const { config, identity, log } = this.#options;
    const origin: Load = pretag === undefined ? {} : { pretag };
    const load = { id: config.id, cmd: "_minion_event", ...origin, tok: identity.token, ...members };
    try {
      await this.session.request(load, { timeoutMs: eventTimeoutMs, tries: config.return_retry_tries });
      return true;
    } catch (error) {
      if (!hasCode(error, "CHANNEL_CLOSED")) log.info({ err: error }, "an event did not reach the master");
      return false;
    }
  }

  /** Tells the master that this minion has started: with Salt's old tag `minion_start`, then with the tag of this minion. */
  async fireStart(): Promise<void> {
    const { config, grains } = this.#options;
    const text = `Minion ${config.id} started at ${asctime(new Date())}`;
    const wanted = new Set(config.start_event_grains.map(String));
    const shown = wanted.size === 0 ? undefined : new Map([...grains()].filter(([name]) => wanted.has(String(name))));
    if (config.enable_legacy_startup_events) await this.fireEvent("minion_start", text, shown);
    await this.fireEvent(`salt/minion/${config.id}/start`, text, shown);
  }

  /** Sends any other request of a function. Mine and peer requests carry the token in every request version. Throws errors of the session. */
  async ask(load: Load): Promise<Value> {
    const { config, identity } = this.#options;
    const cmd = typeof load.cmd === "string" ? load.cmd : "";
    const stamp: Load = cmd.startsWith("_mine") ? { _stamp: stampText(now()) } : {};
    const extra: Load = cmd.startsWith("_mine") || peerCommands.has(cmd) ? { ...stamp, tok: identity.token } : {};
    return await this.session.request({ ...load, id: load.id ?? config.id, ...extra }, { isSlow: true });
  }
}

function openRequestChannel(config: MinionConfig, address: MasterAddress): RequestChannel {
  return new RequestChannel({
    endpoint: endpointOf(address.host, address.port),
    timeoutMs: config.request_channel_timeout * 1_000,
    tries: 1,
    keepalive: {
      isOn: config.tcp_keepalive,
      idleSeconds: config.tcp_keepalive_idle,
      count: config.tcp_keepalive_cnt,
      intervalSeconds: config.tcp_keepalive_intvl,
    },
    isIpv6: config.ipv6 === true,
  });
}

/** The configured `publish_port`, which Salt's minions prefer to the master's. 4506, the default request port, does not count. */
function ownPublishPort(config: MinionConfig): number | undefined {
  const port = config.opts.get("publish_port");
  return typeof port === "number" && port !== 4506 ? port : undefined;
}
