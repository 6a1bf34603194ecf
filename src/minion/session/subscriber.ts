/**
 * The connection to the master's publish port: reconnects by itself, drops publishes for other topics.
 * Source: docs/protocol.md section 1.2.
 */
import { createHash } from "node:crypto";
import { Subscriber as SubscribeSocket } from "zeromq";
import type { MinionConfig } from "../../config/schema.ts";

export type SubscriberConfig = Pick<
  MinionConfig,
  | "id"
  | "ipv6"
  | "zmq_filtering"
  | "recon_default"
  | "recon_max"
  | "recon_randomize"
  | "tcp_keepalive"
  | "tcp_keepalive_idle"
  | "tcp_keepalive_cnt"
  | "tcp_keepalive_intvl"
>;

const broadcastTopic = "broadcast";

export class Subscriber {
  readonly #socket: SubscribeSocket;
  readonly #topics: ReadonlySet<string>;

  /** Connects in the background. Publishes that the master sends before the connection are lost. */
  constructor(endpoint: string, config: SubscriberConfig) {
    const ownTopic = createHash("sha1").update(config.id).digest("hex");
    this.#topics = new Set([broadcastTopic, ownTopic]);
    this.#socket = new SubscribeSocket({
      linger: 0,
      ...(config.ipv6 ? { ipv6: true } : {}),
      ...reconnectTimes(config),
      tcpKeepalive: config.tcp_keepalive ? 1 : 0,
      tcpKeepaliveIdle: config.tcp_keepalive_idle,
      tcpKeepaliveCount: config.tcp_keepalive_cnt,
      tcpKeepaliveInterval: config.tcp_keepalive_intvl,
    });
    if (config.zmq_filtering) this.#socket.subscribe(broadcastTopic, ownTopic);
    else this.#socket.subscribe();
    this.#socket.connect(endpoint);
  }

  /** Frames as they come, until `close`. */
  async *frames(): AsyncGenerator<Uint8Array> {
    for await (const [first, second] of this.#socket) {
      if (second === undefined) {
        if (first !== undefined) yield first;
      } else if (first !== undefined && this.#topics.has(first.toString("latin1"))) {
        yield second;
      }
    }
  }

  close(): void {
    this.#socket.close();
  }
}

/** Randomises the first wait, so that the fleet of a restarted master does not reconnect all at once. */
function reconnectTimes(config: SubscriberConfig): { reconnectInterval: number; reconnectMaxInterval: number } {
  const spread = config.recon_randomize ? Math.random() * config.recon_max : 0;
  return {
    reconnectInterval: Math.round(config.recon_default + spread),
    reconnectMaxInterval: config.recon_max,
  };
}
