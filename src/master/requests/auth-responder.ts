/** Answers decided authentications: one task of the RSA lane for each batch. */

import type { AuthBatch } from "../../workers/messages/batch.ts";
import type { AuthReplies, RsaTask } from "../../workers/messages/lanes.ts";
import type { MasterKeys } from "../../workers/messages/worker.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";
import type { RequestConnection } from "../ports/request-connection.ts";

export type AuthResponderOptions = {
  readonly rsa: Pick<LanePool, "run">;
  /** The master's present keys, so that a reply after a rotation carries the new one. */
  readonly keys: () => MasterKeys;
  readonly reply: (connection: RequestConnection, frame: Buffer) => void;
  readonly forget: (connection: RequestConnection) => void;
  readonly onFault: (error: Error) => void;
};

export class AuthResponder {
  readonly counters = { authsAnswered: 0, authsFailed: 0 };
  readonly #options: AuthResponderOptions;

  constructor(options: AuthResponderOptions) {
    this.#options = options;
  }

  /**
   * Sends each reply of a batch to the connection of the same index. Never rejects. If an answer fails, the connection gets none, so that the client
   * times out and tries again; on an answer that is not a verdict a minion would give up.
   */
  async answer(batch: AuthBatch, connections: readonly (RequestConnection | undefined)[]): Promise<void> {
    const { rsa, keys, reply, forget, onFault } = this.#options;
    const { aes, signature } = keys();
    const task: RsaTask = { kind: "authReplies", auths: batch.tasks, aes, aesSignature: signature };
    try {
      const { bytes, ends } = await rsa.run<AuthReplies>(task, { transfer: [batch.tasks] });
      let start = 0;
      for (const [index, end] of ends.entries()) {
        const connection = connections[index];
        if (end > start && connection !== undefined) {
          reply(connection, Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start));
          this.counters.authsAnswered += 1;
        } else {
          this.counters.authsFailed += 1;
          if (connection !== undefined) forget(connection);
        }
        start = end;
      }
    } catch (error) {
      this.counters.authsFailed += connections.length;
      for (const connection of connections) if (connection !== undefined) forget(connection);
      onFault(error as Error);
    }
  }
}
