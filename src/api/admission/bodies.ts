/** Receives bodies. Their bytes are bounded, for one request and for all together, until the request is answered. */
import type { Readable } from "node:stream";
import {
  apiBodiesBytesMax,
  apiSmallStrangerBodyBytes,
  apiStrangerBodiesBytesMax,
  apiStrangerParseBytesPerSecond,
  apiStrangerParseWaitMs,
  apiYamlParseFactor,
} from "../../limits.ts";
import { ApiError, busy } from "../http/errors.ts";

type Held = { readonly isStranger: boolean; bytes: number };

export class Bodies {
  /** `heldBytes` of requests under way; `refused` over a bound of all, `tooLarge` over that of one, `cut` ended early. */
  readonly counters = { heldBytes: 0, strangersHeldBytes: 0, refused: 0, tooLarge: 0, cut: 0, paced: 0 };
  /** When the next body of a stranger may be parsed, by `performance.now()`. */
  #freeMs = 0;

  open(isStranger: boolean): Held {
    return { isStranger, bytes: 0 };
  }

  release(held: Held): void {
    this.#count(held, -held.bytes);
  }

  /** @throws ApiError 400 if the client ends early, 413 over `bytesMax`, 503 */
  async read(stream: Readable, held: Held, announcedBytes: number, bytesMax: number): Promise<Buffer> {
    if (announcedBytes > bytesMax) throw this.#tooLarge();
    const parts: Buffer[] = [];
    await new Promise<void>((resolve, reject) => {
      const fail = (error: ApiError) => {
        stream.off("data", take);
        // Node discards what still comes, up to the request's timeout.
        stream.resume();
        reject(error);
      };
      const take = (part: Buffer) => {
        if (held.bytes + part.byteLength > bytesMax) return fail(this.#tooLarge());
        if (this.#isFull(held, part.byteLength)) {
          this.counters.refused += 1;
          return fail(busy("Too many bodies are under way"));
        }
        this.#count(held, part.byteLength);
        parts.push(part);
      };
      let isCut = false;
      const cut = () => {
        if (stream.readableEnded || isCut) return;
        isCut = true;
        this.counters.cut += 1;
        reject(new ApiError("REQUEST_UNREADABLE", "The request cannot be read"));
      };
      stream.on("data", take).once("end", resolve).once("error", cut).once("close", cut);
    });
    return Buffer.concat(parts);
  }

  /**
   * Waits until a stranger's body may be parsed: parsers run on the only thread, and strangers' bodies get a share of it. Small bodies do not wait.
   * @throws ApiError 503 if too many wait
   */
  async turn(bytes: number, isJson: boolean): Promise<void> {
    const charge = isJson ? bytes : bytes * apiYamlParseFactor;
    if (charge <= apiSmallStrangerBodyBytes) return;
    const nowMs = performance.now();
    const startMs = Math.max(nowMs, this.#freeMs);
    if (startMs - nowMs > apiStrangerParseWaitMs) {
      this.counters.refused += 1;
      throw busy("Too many bodies are under way");
    }
    this.#freeMs = startMs + (charge * 1_000) / apiStrangerParseBytesPerSecond;
    if (startMs === nowMs) return;
    this.counters.paced += 1;
    await new Promise<void>((resolve) => setTimeout(resolve, startMs - nowMs));
  }

  #isFull({ isStranger }: Held, bytes: number): boolean {
    const { heldBytes, strangersHeldBytes } = this.counters;
    return (
      heldBytes + bytes > apiBodiesBytesMax || (isStranger && strangersHeldBytes + bytes > apiStrangerBodiesBytesMax)
    );
  }

  #count(held: Held, bytes: number): void {
    held.bytes += bytes;
    this.counters.heldBytes += bytes;
    if (held.isStranger) this.counters.strangersHeldBytes += bytes;
  }

  #tooLarge(): ApiError {
    this.counters.tooLarge += 1;
    return new ApiError("BODY_TOO_LARGE", "The request's body is too large", { connection: "close" });
  }
}
