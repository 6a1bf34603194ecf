/**
 * Tracks the requests that lanes and commands answer. Each gets one reply; a failure is answered with Salt's
 * generic one. A shutdown waits for all of them.
 */
import type { Logger } from "pino";
import { failedReply } from "../../wire/reply.ts";
import type { RequestConnection } from "../ports/request-connection.ts";

export type OwedAnswersOptions = {
  readonly reply: (connection: RequestConnection, frame: Uint8Array) => void;
  readonly logger: Logger;
};

export class OwedAnswers {
  readonly #options: OwedAnswersOptions;
  readonly #owed = new Set<Promise<void>>();

  constructor(options: OwedAnswersOptions) {
    this.#options = options;
  }

  /** Answers with the frame when it resolves. */
  owe(connection: RequestConnection, answer: Promise<Uint8Array>): void {
    this.oweBy(connection, async (reply) => reply(await answer));
  }

  /** Answers with the first frame that `run` passes to `reply`. A second reply would count as the answer to the client's next request. */
  oweBy(connection: RequestConnection, run: (reply: (frame: Uint8Array) => void) => Promise<void>): void {
    const { reply, logger } = this.#options;
    let isAnswered = false;
    const replyOnce = (frame: Uint8Array) => {
      if (!isAnswered) reply(connection, frame);
      isAnswered = true;
    };
    this.track(
      run(replyOnce).catch((error: Error) => {
        logger.error({ err: error }, "a request could not be answered");
        replyOnce(failedReply);
      }),
    );
  }

  /** Makes a shutdown wait for `answering`, which never rejects. */
  track(answering: Promise<void>): void {
    this.#owed.add(answering);
    void answering.finally(() => this.#owed.delete(answering));
  }

  /** Settles when all answers owed now are sent. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#owed);
  }
}
