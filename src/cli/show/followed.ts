/** Follows a job or a batch that runs in the master. Ctrl-C or a lost master ends only the command, after a hint how to see the rest. */
import type { MasterClient } from "../../client/master-client.ts";
import { hasCode, type SaltworksError } from "../../errors.ts";
import type { Host } from "../host/host.ts";
import { saltExitCodes } from "./salt-endings.ts";

export class Followed<Running extends { readonly jid: string; close(): void }> {
  /** The job or batch; undefined until it is published. Closed at the end of `until`. */
  running: Running | undefined;
  readonly #client: MasterClient;
  readonly #host: Host;
  readonly #tellLater: (jid: string) => void;
  #isInterrupted = false;

  /** `tellLater`: tells the operator how to see the rest. */
  constructor(client: MasterClient, host: Host, tellLater: (jid: string) => void) {
    this.#client = client;
    this.#host = host;
    this.#tellLater = tellLater;
  }

  /** @returns the exit code of `show`, unless it was interrupted */
  async until(show: () => Promise<number>): Promise<number> {
    const ignore = this.#host.onInterrupt(() => this.#interrupt());
    try {
      return await show();
    } catch (error) {
      if (this.#isInterrupted) return this.#sayGoodbye();
      // Without a job the publish failed. The caller explains that.
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
