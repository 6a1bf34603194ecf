/** Sockets to the master's request port that a client's requests share: each has one request under way. */
import type { MasterConfig } from "../config/load.ts";
import { hasCode, SaltworksError } from "../errors.ts";
import { clientChannelsMax } from "../limits.ts";
import { Requester } from "../transport/zmtp/requester.ts";
import { encodeClearRequest } from "../wire/request.ts";
import type { Encodable, ValueMap } from "../wire/values.ts";
import { readReply } from "./command-reply.ts";
import { requestAddress, requestEndpoint } from "./request-port.ts";
import { timedOutText } from "./texts.ts";

/** The newest request version. A master with Salt's default `minimum_auth_version` accepts no other. */
const requestVersion = 3;

export class RequestChannels {
  readonly #endpoint: string;
  readonly #max: number;
  readonly #idle: Requester[] = [];
  readonly #open = new Set<Requester>();
  #isClosed = false;

  constructor(config: Pick<MasterConfig, "interface" | "ret_port">, max: number = clientChannelsMax) {
    this.#endpoint = requestEndpoint(config);
    this.#max = max;
  }

  /** Called when the master has ended: requests under way have lost their answers. Later ones are sent over new connections, at once. */
  abandon(error: SaltworksError): void {
    for (const channel of this.#open) channel.abandon(error);
  }

  /** @throws SaltworksError MASTER_UNREACHABLE after `abandon`, REQUEST_TIMEOUT, QUEUE_FULL, CHANNEL_CLOSED, AUTH_FAILED, REQUEST_REFUSED; the signal's reason */
  async ask(load: Encodable, timeoutMs: number, signal?: AbortSignal): Promise<ValueMap> {
    const channel = this.#take();
    try {
      const request = encodeClearRequest(load, requestVersion);
      const reply = await channel.request(request, { timeoutMs, ...(signal ? { signal } : {}) });
      return readReply(reply);
    } catch (error) {
      if (!hasCode(error, "REQUEST_TIMEOUT")) throw error;
      throw new SaltworksError("REQUEST_TIMEOUT", timedOutText, { endpoint: this.#endpoint });
    } finally {
      if (this.#open.has(channel)) this.#idle.push(channel);
    }
  }

  /** Abandons all requests under way. Later requests fail with CHANNEL_CLOSED. */
  close(): void {
    this.#isClosed = true;
    const closed = new SaltworksError("CHANNEL_CLOSED", "the client was closed");
    for (const channel of this.#open) channel.abandon(closed);
    this.#open.clear();
    this.#idle.length = 0;
  }

  #take(): Requester {
    if (this.#isClosed) throw new SaltworksError("CHANNEL_CLOSED", "the client was closed");
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    if (this.#open.size >= this.#max)
      throw new SaltworksError("QUEUE_FULL", `${this.#max} requests are under way already`, { max: this.#max });
    const channel = new Requester(requestAddress(this.#endpoint));
    this.#open.add(channel);
    return channel;
  }
}
