/** Bounds the bytes of returns that a call holds until it answers: too large returns fail the call instead of ending its thread. */
import { SaltworksError } from "../../errors.ts";
import { heldReturnsBytesMax } from "../../limits.ts";

export class HeldReturns {
  #bytes = 0;

  /** @throws SaltworksError FUNCTION_FAILED over `heldReturnsBytesMax` */
  add(body: Uint8Array): void {
    this.#bytes += body.byteLength;
    if (this.#bytes <= heldReturnsBytesMax) return;
    throw new SaltworksError(
      "FUNCTION_FAILED",
      `the returns are more than ${heldReturnsBytesMax} bytes, too large for one answer: ask for less at a time`,
      { max: heldReturnsBytesMax },
    );
  }
}
