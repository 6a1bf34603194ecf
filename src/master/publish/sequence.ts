/** The sequence of a cluster's jobs, as the publisher sees it. A master without a cluster has none. */

import type { JobTaker } from "../../cluster/jobs/reader.ts";
import type { SharedJob } from "../../cluster/jobs/record.ts";
import type { JobStream } from "../../cluster/jobs/stream.ts";
import { within } from "../../deadline.ts";
import { SaltworksError } from "../../errors.ts";
import { jobAppendMs } from "../../limits.ts";

export type JobStreamCounters = JobStream["counters"];

export interface JobSequence {
  /** Undefined until the member has joined. */
  readonly counters: JobStreamCounters | undefined;
  /** `take` gets every job of every member, in order. Call it once, before the member joins. */
  deliverTo(take: JobTaker): void;
  /** Resolves when this member has sent the job. @throws SaltworksError CLUSTER_UNAVAILABLE, WIRE_TOO_LARGE, JOB_STATE */
  append(job: SharedJob): Promise<void>;
  /** Takes no more jobs. Resolves when the ones under way are sent. */
  close(): Promise<void>;
}

type Stream = Pick<JobStream, "append" | "close" | "counters">;

/** Jobs wait for a moment until the member has joined, and are refused then, because their serials could be below those of the cluster. */
export class JoiningSequence implements JobSequence {
  #take: JobTaker | undefined;
  #stream: Stream | undefined;
  #isClosed = false;
  readonly #waitMs: number;
  #onJoined: (stream: Stream) => void = () => undefined;
  readonly #joined = new Promise<Stream>((resolve) => {
    this.#onJoined = resolve;
  });

  constructor(waitMs = jobAppendMs) {
    this.#waitMs = waitMs;
  }

  get counters(): JobStreamCounters | undefined {
    return this.#stream?.counters;
  }

  deliverTo(take: JobTaker): void {
    this.#take = take;
  }

  /** For the stream to be opened. */
  readonly take: JobTaker = (job) => {
    if (this.#take === undefined) throw new SaltworksError("CLUSTER_UNAVAILABLE", "the publisher is not open yet");
    return this.#take(job);
  };

  async use(stream: Stream): Promise<void> {
    this.#stream = stream;
    this.#onJoined(stream);
    if (this.#isClosed) await stream.close();
  }

  async append(job: SharedJob): Promise<void> {
    if (this.#isClosed && this.#stream === undefined) throw notJoined();
    const stream =
      this.#stream ??
      (await within(this.#joined, this.#waitMs, () => {
        throw notJoined();
      }));
    await stream.append(job);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#stream?.close();
  }
}

function notJoined(): SaltworksError {
  return new SaltworksError(
    "CLUSTER_UNAVAILABLE",
    "this member has not joined its cluster yet, so it publishes no job: too few members answer",
  );
}
