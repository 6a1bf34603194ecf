/** Answers that lanes and commands still owe: each request gets one, a failure becomes an error that its client understands, and a shutdown waits. */
import type { Logger } from "pino";
import { failedReply } from "../../wire/reply.ts";
import type { RequestPeer } from "../ports/request-peer.ts";

export type OwedAnswersOptions = {
  readonly reply: (peer: RequestPeer, frame: Uint8Array) => void;
  readonly logger: Logger;
};

export class OwedAnswers {
  readonly #options: OwedAnswersOptions;
  readonly #owed = new Set<Promise<void>>();

  constructor(options: OwedAnswersOptions) {
    this.#options = options;
  }

  /** Answers with a frame when that is there. */
  owe(peer: RequestPeer, answer: Promise<Uint8Array>): void {
    this.oweBy(peer, async (reply) => reply(await answer));
  }

  /** Answers by what `run` calls `reply` with: the first time only, because a second reply would be taken for the answer to the client's next request. */
  oweBy(peer: RequestPeer, run: (reply: (frame: Uint8Array) => void) => Promise<void>): void {
    const { reply, logger } = this.#options;
    let isAnswered = false;
    const replyOnce = (frame: Uint8Array) => {
      if (!isAnswered) reply(peer, frame);
      isAnswered = true;
    };
    this.track(
      run(replyOnce).catch((error: Error) => {
        logger.error({ err: error }, "a request could not be answered");
        replyOnce(failedReply);
      }),
    );
  }

  /** Counts `answering`, which never rejects, among what a shutdown waits for. */
  track(answering: Promise<void>): void {
    this.#owed.add(answering);
    void answering.finally(() => this.#owed.delete(answering));
  }

  /** Settles when those that are owed now are answered. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#owed);
  }
}
