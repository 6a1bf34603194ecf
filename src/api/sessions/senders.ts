/** How the API names its HTTP clients to the master. The key is read again after `apiKeyLookMs`, because a master makes a new one at its start. */
import { readSender, type Sender } from "../../client/credentials.ts";
import type { MasterConfig } from "../../config/load.ts";
import { apiKeyLookMs } from "../../limits.ts";

export class Senders {
  readonly #config: MasterConfig;
  #read: Promise<Sender> | undefined;
  #readMs = 0;

  constructor(config: MasterConfig) {
    this.#config = config;
  }

  /** @throws SaltworksError as `readSender` */
  async of(address: string): Promise<Sender> {
    const nowMs = performance.now();
    if (this.#read === undefined || nowMs - this.#readMs > apiKeyLookMs) {
      this.#readMs = nowMs;
      this.#read = readSender(this.#config, address);
      this.#read.catch(() => {
        this.#read = undefined;
      });
    }
    return { ...(await this.#read), client_address: address };
  }
}
