/** Up to where a reader must have read to have all that a stream of NATS holds. */
import type { JetStreamManager } from "@nats-io/jetstream";
import { within } from "../deadline.ts";
import { keyBucketAnswerMs } from "../limits.ts";

/**
 * The leader of the stream answers. A consumer may be at a server that is behind, and then it has delivered all that this server has.
 *
 * @param subjects a form with wildcards
 * @returns the sequence of the newest message that there is; 0 without any
 * @throws what NATS throws, or an error if no answer comes in time
 */
export async function newestSequence(
  { streams }: Pick<JetStreamManager, "streams">,
  stream: string,
  subjects: string,
): Promise<number> {
  const asking = streams.getMessage(stream, { last_by_subj: subjects });
  const found = await within(asking, keyBucketAnswerMs, () => {
    throw new Error("no answer in time");
  });
  return found?.seq ?? 0;
}
