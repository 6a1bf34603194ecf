/** Answers decided authentications: one task of the RSA lane for each batch. */

import type { AuthBatch } from "../../workers/messages/batch.ts";
import type { AuthReplies, RsaTask } from "../../workers/messages/lanes.ts";
import type { MasterKeys } from "../../workers/messages/shard.ts";
import type { LanePool } from "../../workers/threads/lane-pool.ts";
import type { RequestPeer } from "../ports/request-peer.ts";

export type AuthLaneOptions = {
  readonly rsa: Pick<LanePool, "run">;
  /** The master's present keys, so that a reply after a rotation carries the new one. */
  readonly keys: () => MasterKeys;
  readonly reply: (peer: RequestPeer, frame: Buffer) => void;
  readonly forget: (peer: RequestPeer) => void;
  readonly onFault: (error: Error) => void;
};

export class AuthLane {
  readonly counters = { authsAnswered: 0, authsFailed: 0 };
  readonly #options: AuthLaneOptions;

  constructor(options: AuthLaneOptions) {
    this.#options = options;
  }

  /**
   * Answers each job of a batch to the connection of the same index. Settles when that is done, and never rejects. If an answer fails, the
   * client times out and tries again; an answer that is not a verdict would make a minion give up.
   */
  async answer(batch: AuthBatch, peers: readonly (RequestPeer | undefined)[]): Promise<void> {
    const { rsa, keys, reply, forget, onFault } = this.#options;
    const { aes, signature } = keys();
    const task: RsaTask = { kind: "authReplies", auths: batch.tasks, aes, aesSignature: signature };
    try {
      const { bytes, ends } = await rsa.run<AuthReplies>(task, { transfer: [batch.tasks] });
      let start = 0;
      for (const [index, end] of ends.entries()) {
        const peer = peers[index];
        if (end > start && peer !== undefined) {
          reply(peer, Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start));
          this.counters.authsAnswered += 1;
        } else {
          this.counters.authsFailed += 1;
          if (peer !== undefined) forget(peer);
        }
        start = end;
      }
    } catch (error) {
      this.counters.authsFailed += peers.length;
      for (const peer of peers) if (peer !== undefined) forget(peer);
      onFault(error as Error);
    }
  }
}
