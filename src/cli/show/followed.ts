/** What a command shows while it goes on in the master, a job or a batch. Ctrl-C and a lost master end the command only: the user is told how to see the rest. */
import type { MasterClient } from "../../client/master-client.ts";
import { hasCode, type SaltworksError } from "../../errors.ts";
import type { Host } from "../host/host.ts";
import { saltExitCodes } from "./salt-endings.ts";

export class Followed<Running extends { readonly jid: string; close(): void }> {
  /** Undefined until something runs; closed with the command. */
  running: Running | undefined;
  readonly #client: MasterClient;
  readonly #host: Host;
  readonly #tellLater: (jid: string) => void;
  #isInterrupted = false;

  /** `tellLater`: says how to see the rest. */
  constructor(client: MasterClient, host: Host, tellLater: (jid: string) => void) {
    this.#client = client;
    this.#host = host;
    this.#tellLater = tellLater;
  }

  /** @returns the exit code, that of `show` if it comes to its end */
  async until(show: () => Promise<number>): Promise<number> {
    const ignore = this.#host.onInterrupt(() => this.#interrupt());
    try {
      return await show();
    } catch (error) {
      if (this.#isInterrupted) return this.#sayGoodbye();
      // Before anything runs this is a failure to publish, which the caller explains.
      if (this.running === undefined || !hasCode(error, "MASTER_UNREACHABLE")) throw error;
      this.#host.complain(`ERROR: ${(error as SaltworksError).message}\n`);
      this.#tellLater(this.running.jid);
      return saltExitCodes.failed;
    } finally {
      ignore();
      this.running?.close();
    }
  }

  #interrupt(): void {
    this.#isInterrupted = true;
    this.running?.close();
    this.#client.close();
  }

  #sayGoodbye(): number {
    const jid = this.running?.jid;
    this.#host.complain("\nExiting gracefully on Ctrl-c\n");
    if (jid !== undefined) {
      this.#host.complain(`This job's jid is: ${jid}\n`);
      this.#tellLater(jid);
    }
    return saltExitCodes.done;
  }
}
